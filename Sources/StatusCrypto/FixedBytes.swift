/// Exactly `count` bytes: keys, hashes, nonces and signatures have their length in their type.
package struct FixedBytes<let count: Int>: Hashable, Sendable {
    package private(set) var storage: InlineArray<count, UInt8>

    /// All bytes the same.
    package init(repeating byte: UInt8 = 0) {
        storage = InlineArray(repeating: byte)
    }

    /// - Returns: nil unless there are exactly `count` bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == count else { return nil }
        self.init()
        var index = 0
        for byte in bytes {
            storage[index] = byte
            index += 1
        }
    }

    /// A copy as an array, for the places that take any length.
    package var bytes: [UInt8] {
        unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            for index in 0..<count { unsafe buffer[index] = storage[index] }
            initializedCount = count
        }
    }

    package subscript(index: Int) -> UInt8 {
        get { storage[index] }
        set { storage[index] = newValue }
    }

    package static func == (left: Self, right: Self) -> Bool {
        for index in 0..<count where left.storage[index] != right.storage[index] { return false }
        return true
    }

    package func hash(into hasher: inout Hasher) {
        for index in 0..<count { hasher.combine(storage[index]) }
    }
}

/// keccak256 or SHA-256 of something; a Waku message hash; a Status message id.
package typealias Digest32 = FixedBytes<32>
/// SHAKE-256 with 64 bytes of output.
package typealias Digest64 = FixedBytes<64>
