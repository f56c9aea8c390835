package import Bytes
import CLibCrypto

/// SHA-256, at once or in parts.
@safe package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// Creates a hash without input.
    package init() {
        unsafe context = LibCrypto.require(EVP_MD_CTX_new())
        unsafe LibCrypto.require(EVP_DigestInit_ex2(context, LibCrypto.sha256, nil))
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Adds the next part of the message.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafePointer { unsafe LibCrypto.require(EVP_DigestUpdate(context, $0, bytes.count)) }
    }

    /// Returns the digest of all parts.
    package consuming func finalize() -> Digest32 {
        var digest = Digest32()
        unsafe digest.withUnsafeMutablePointer { unsafe LibCrypto.require(EVP_DigestFinal_ex(context, $0, nil)) }
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
