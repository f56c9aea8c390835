package import Bytes
import CryptoLibrary

/// SHA-256, of a whole message or in parts.
@safe package struct SHA256: ~Copyable {
    private let context: CryptoLibrary.SHA256Context

    /// Creates a hash without input.
    package init() {
        unsafe context = CryptoLibrary.createSHA256()
    }

    deinit { unsafe CryptoLibrary.destroySHA256(context) }

    /// Adds the next part of the message.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafePointer { unsafe CryptoLibrary.updateSHA256(context, $0, count: bytes.count) }
    }

    /// Returns the digest of all parts.
    package consuming func finalize() -> Digest32 {
        var digest = Digest32()
        unsafe digest.withUnsafeMutablePointer { unsafe CryptoLibrary.finishSHA256(context, into: $0) }
        return digest
    }

    /// Returns the digest of a whole message.
    package static func hash(_ bytes: Span<UInt8>) -> Digest32 {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    /// Returns the digest of a whole message.
    package static func hash(_ bytes: [UInt8]) -> Digest32 { hash(bytes.span) }
}
