import CryptoLibrary
import Synchronization

/// Random numbers from the cryptographic library, drawn 512 bytes at a time: a nonce or a frame's padding seldom costs a library call.
///
/// Copies share the buffer, so they never return the same bytes twice. Threads may share it, but a worker with its own generator avoids
/// contention. The buffer does not detect `fork`, which this program never calls.
package struct SecureRandom: RandomNumberGenerator, Sendable {
    private let source = Source()

    /// Creates a generator without drawing bytes.
    package init() {}

    package mutating func next() -> UInt64 { source.next() }

    private final class Source: Sendable {
        private struct Buffer {
            var bytes = FixedBytes<512>()
            var used = 512
        }

        private let buffer = Mutex(Buffer())

        deinit {
            buffer.withLock { $0.bytes.wipe() }
        }

        func next() -> UInt64 {
            buffer.withLock { buffer in
                if buffer.used == 512 {
                    Self.draw(&buffer.bytes)
                    buffer.used = 0
                }
                var value: UInt64 = 0
                for index in buffer.used..<buffer.used + 8 {
                    value = value << 8 | UInt64(buffer.bytes[index])
                    buffer.bytes[index] = 0  // returned bytes are not kept
                }
                buffer.used += 8
                return value
            }
        }

        private static func draw(_ bytes: inout FixedBytes<512>) {
            unsafe bytes.withUnsafeMutablePointer { unsafe CryptoLibrary.randomize($0, count: 512) }
        }
    }
}

extension RandomNumberGenerator {
    /// Returns the given number of random bytes, for example for padding.
    package mutating func bytes(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count)
        while bytes.count < count {
            var value = next()
            for _ in 0..<min(8, count - bytes.count) {
                bytes.append(UInt8(truncatingIfNeeded: value))
                value >>= 8
            }
        }
        return bytes
    }

    /// Returns random bytes of a type's length, for nonces and keys.
    package mutating func fixedBytes<let count: Int>() -> FixedBytes<count> {
        var bytes = FixedBytes<count>()
        var value: UInt64 = 0
        for index in 0..<count {
            if index.isMultiple(of: 8) { value = next() }
            bytes[index] = UInt8(truncatingIfNeeded: value)
            value >>= 8
        }
        return bytes
    }
}
