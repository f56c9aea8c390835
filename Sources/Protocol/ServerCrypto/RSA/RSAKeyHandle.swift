import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// A libcrypto key, freed with its last reference.
///
/// Sharing it is safe: a key never changes after its creation, and libcrypto locks the values that it caches (OpenSSL 3,
/// openssl-threads(7)).
@safe final class RSAKeyHandle: Sendable {
    // Written only in the initialiser, and freed when no other reference exists. Its target never changes (openssl-threads(7)).
    nonisolated(unsafe) let pointer: OpaquePointer

    init(owning pointer: OpaquePointer) {
        unsafe self.pointer = pointer
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    var bitCount: Int { Int(unsafe EVP_PKEY_get_bits(pointer)) }
    /// The length of a block: of signatures and of ciphertexts.
    var blockByteCount: Int { Int(unsafe EVP_PKEY_get_size(pointer)) }
    var isRSA: Bool { unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_RSA }

    /// The key as SubjectPublicKeyInfo.
    var publicDER: [UInt8] {
        unsafe bytes { unsafe i2d_PUBKEY(pointer, $0) }
    }

    /// The key as PKCS#1's RSAPrivateKey.
    var privateDER: [UInt8] {
        unsafe bytes { unsafe i2d_PrivateKey(pointer, $0) }
    }

    private func bytes(_ write: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
        let count = Int(write(nil))
        guard count > 0 else { return [] }
        return unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, initializedCount in
            var position = buffer.baseAddress
            initializedCount = unsafe max(0, Int(write(&position)))
        }
    }

    /// Runs an operation.
    ///
    /// - Parameter body: Returns the result, or nil if libcrypto rejects the input.
    func withContext<Result>(_ body: (OpaquePointer) -> Result?) -> Result? {
        let context = unsafe LibCrypto.require(EVP_PKEY_CTX_new(pointer, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        defer { ERR_clear_error() }  // a rejected input must not leave an error for later calls
        return unsafe body(context)
    }
}

/// How a message is padded to a block.
package enum RSAPadding: String, Sendable, CaseIterable {
    /// RSAES-OAEP with SHA-1 and MGF1 with SHA-1.
    case oaep
    /// RSAES-PKCS1-v1_5.
    case pkcs1

    /// Returns the longest message that fits.
    package func maximumByteCount(blockByteCount: Int) -> Int {
        switch self {
        case .oaep: blockByteCount - 42
        case .pkcs1: blockByteCount - 11
        }
    }

    var number: Int32 {
        switch self {
        case .oaep: RSA_PKCS1_OAEP_PADDING
        case .pkcs1: RSA_PKCS1_PADDING
        }
    }
}
