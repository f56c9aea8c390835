package import Bytes
import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// SHA-512 of whole messages.
package enum SHA512 {
    package static func hash(_ bytes: [UInt8]) -> Digest64 {
        var digest = Digest64()
        unsafe digest.withUnsafeMutablePointer { digest in
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe LibCrypto.require(EVP_Digest(bytes.baseAddress, bytes.count, digest, nil, LibCrypto.sha512, nil))
            }
        }
        return digest
    }
}

/// SHA-512 of many messages that begin with the same bytes. The prefix is hashed once, so each digest costs as much as its suffix.
@safe package struct SHA512Prefix: ~Copyable {
    private let prefix: OpaquePointer
    private let context: OpaquePointer

    /// Hashes the prefix.
    package init(_ bytes: [UInt8]) {
        unsafe prefix = LibCrypto.require(EVP_MD_CTX_new())
        unsafe context = LibCrypto.require(EVP_MD_CTX_new())
        unsafe LibCrypto.require(EVP_DigestInit_ex2(prefix, LibCrypto.sha512, nil))
        unsafe bytes.withUnsafeBytes { unsafe LibCrypto.require(EVP_DigestUpdate(prefix, $0.baseAddress, $0.count)) }
    }

    deinit {
        unsafe EVP_MD_CTX_free(prefix)
        unsafe EVP_MD_CTX_free(context)
    }

    /// Returns the digest of the prefix followed by `suffix`.
    package mutating func hash(_ suffix: Span<UInt8>) -> Digest64 {
        var digest = Digest64()
        unsafe LibCrypto.require(EVP_MD_CTX_copy_ex(context, prefix))
        unsafe suffix.withUnsafePointer { unsafe LibCrypto.require(EVP_DigestUpdate(context, $0, suffix.count)) }
        unsafe digest.withUnsafeMutablePointer { unsafe LibCrypto.require(EVP_DigestFinal_ex(context, $0, nil)) }
        return digest
    }
}

extension LibCrypto {
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) static let sha512 = unsafe fetchDigest("SHA2-512")
}
