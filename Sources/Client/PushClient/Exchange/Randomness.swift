import Bytes

/// An operation's source of randomness: the system's, or a test's.
///
/// A separate type, because Swift 6.3 does not compile `inout any RandomNumberGenerator` in closures with typed errors.
package struct Randomness: RandomNumberGenerator {
    private let draw: () -> UInt64

    package init(_ generator: some RandomNumberGenerator = SecureRandom()) {
        var generator = generator
        draw = { generator.next() }
    }

    package mutating func next() -> UInt64 { draw() }
}
