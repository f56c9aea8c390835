package import Bytes
import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// Diffie-Hellman on Curve25519, RFC 7748.
package enum X25519 {
    /// Returns a private key's public key. Every 32 bytes are a private key.
    package static func publicKey(of privateKey: SecretBytes) -> FixedBytes<32> {
        let key = unsafe handle(of: privateKey)
        defer { unsafe EVP_PKEY_free(key) }
        var publicKey = FixedBytes<32>()
        var count = 32
        unsafe publicKey.withUnsafeMutablePointer { unsafe LibCrypto.require(EVP_PKEY_get_raw_public_key(key, $0, &count)) }
        return publicKey
    }

    /// Returns the secret that two parties share.
    ///
    /// - Returns: The 32 bytes, or nil for a public key of small order, whose secret everyone knows.
    package static func sharedSecret(of privateKey: SecretBytes, with publicKey: FixedBytes<32>) -> SymmetricKey? {
        let key = unsafe handle(of: privateKey)
        defer { unsafe EVP_PKEY_free(key) }
        let peer = unsafe publicKey.span.withUnsafePointer { start in
            unsafe LibCrypto.require(EVP_PKEY_new_raw_public_key_ex(nil, "X25519", nil, start, 32))
        }
        defer { unsafe EVP_PKEY_free(peer) }
        let context = unsafe LibCrypto.require(EVP_PKEY_CTX_new_from_pkey(nil, key, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        LibCrypto.require(unsafe EVP_PKEY_derive_init(context))
        LibCrypto.require(unsafe EVP_PKEY_derive_set_peer(context, peer))
        var secret = FixedBytes<32>()
        defer { secret.wipe() }
        var count = 32
        // libcrypto fails if the secret is zero.
        let isUsable = unsafe secret.withUnsafeMutablePointer { unsafe EVP_PKEY_derive(context, $0, &count) == 1 }
        guard isUsable else {
            ERR_clear_error()
            return nil
        }
        return SymmetricKey(secret)
    }

    private static func handle(of privateKey: SecretBytes) -> OpaquePointer {
        unsafe privateKey.withExposedBytes { bytes in
            unsafe bytes.withUnsafePointer { start in
                unsafe LibCrypto.require(EVP_PKEY_new_raw_private_key_ex(nil, "X25519", nil, start, 32))
            }
        }
    }
}
