/// Exactly `count` bytes: the types of keys, hashes, nonces and signatures contain their length.
package struct FixedBytes<let count: Int>: Hashable, Sendable {
    package private(set) var storage: InlineArray<count, UInt8>

    /// Creates bytes that all have the same value.
    package init(repeating byte: UInt8 = 0) {
        storage = InlineArray(repeating: byte)
    }

    /// - Returns: Nil unless there are exactly `count` bytes.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count == count else { return nil }
        self.init([UInt8](bytes).span)
    }

    /// - Returns: Nil unless there are exactly `count` bytes.
    package init?(_ bytes: Span<UInt8>) {
        guard bytes.count == count else { return nil }
        self.init()
        unsafe withUnsafeMutablePointer { target in
            unsafe bytes.withUnsafePointer { unsafe target.update(from: $0, count: count) }
        }
    }

    /// The bytes in place, for reading.
    package var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get { storage.span }
    }

    /// The bytes in place, for writing.
    package var mutableSpan: MutableSpan<UInt8> {
        @_lifetime(&self)
        mutating get { storage.mutableSpan }
    }

    /// The bytes in place, for a C function that writes exactly `count` of them.
    package mutating func withUnsafeMutablePointer<Result>(_ body: (UnsafeMutablePointer<UInt8>) -> Result) -> Result {
        var span = storage.mutableSpan
        return unsafe span.withUnsafeMutableBufferPointer { buffer in
            // The address is nil only for an empty buffer, and `count` is never zero.
            guard let base = buffer.baseAddress else { preconditionFailure("no bytes") }
            return unsafe body(base)
        }
    }

    /// A copy as an array, for the places that take any length.
    package var bytes: [UInt8] { [UInt8](copying: span) }

    package subscript(index: Int) -> UInt8 {
        get { storage[index] }
        set { storage[index] = newValue }
    }

    /// Compares up to the first difference. Compare secrets with `ConstantTime` instead.
    package static func == (left: Self, right: Self) -> Bool {
        for index in 0..<count where left.storage[index] != right.storage[index] { return false }
        return true
    }

    package func hash(into hasher: inout Hasher) {
        unsafe storage.span.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    }
}

/// A keccak256 or SHA-256 digest. A Waku message hash. A Status message id.
package typealias Digest32 = FixedBytes<32>
/// SHAKE-256 with 64 bytes of output.
package typealias Digest64 = FixedBytes<64>

extension Span<UInt8> {
    /// Lends the bytes in place to a C function that reads exactly `count` of them and accepts no null pointer.
    package func withUnsafePointer<Result>(_ body: (UnsafePointer<UInt8>) -> Result) -> Result {
        unsafe withUnsafeBufferPointer { buffer in
            if let base = buffer.baseAddress { return unsafe body(base) }
            // An empty span may lack an address. C does not read from this address either.
            var nothing: UInt8 = 0
            return unsafe Swift.withUnsafePointer(to: &nothing, body)
        }
    }
}

extension [UInt8] {
    /// A copy of borrowed bytes.
    package init(copying bytes: Span<UInt8>) {
        unsafe self.init(unsafeUninitializedCapacity: bytes.count) { buffer, initializedCount in
            for index in 0..<bytes.count { unsafe buffer.initializeElement(at: index, to: bytes[index]) }
            initializedCount = bytes.count
        }
    }

    /// Appends borrowed bytes.
    package mutating func append(copying bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
    }
}
