import CLibCrypto

/// SHA-256, at once or bit by bit.
@safe package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    /// Begins with nothing hashed.
    package init() {
        unsafe context = LibCrypto.require(EVP_MD_CTX_new())
        unsafe LibCrypto.require(EVP_DigestInit_ex2(context, LibCrypto.sha256, nil))
    }

    deinit { unsafe EVP_MD_CTX_free(context) }

    /// Takes in the next part of the message.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafePointer { unsafe LibCrypto.require(EVP_DigestUpdate(context, $0, bytes.count)) }
    }

    /// The digest of all parts.
    package consuming func finalize() -> Digest32 {
        var digest = Digest32()
        unsafe digest.withUnsafeMutablePointer { unsafe LibCrypto.require(EVP_DigestFinal_ex(context, $0, nil)) }
        return digest
    }

    /// The digest of a whole message.
    package static func hash(_ bytes: Span<UInt8>) -> Digest32 {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    /// The digest of a whole message.
    package static func hash(_ bytes: [UInt8]) -> Digest32 { hash(bytes.span) }
}
