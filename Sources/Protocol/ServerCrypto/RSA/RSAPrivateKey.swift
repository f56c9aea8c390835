import Bytes
import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// An RSA key that signs (RSASSA-PKCS1-v1_5 with SHA-512, deterministic) and decrypts. The key is never printed.
package struct RSAPrivateKey: Sendable {
    private let handle: RSAKeyHandle
    package let publicKey: RSAPublicKey

    private init(_ handle: RSAKeyHandle) {
        self.handle = handle
        publicKey = RSAPublicKey(handle)
    }

    /// Generates a key of 2,048 bits. Keeps a core busy for a tenth of a second, so do not call it on the cooperative pool.
    package static func generate() -> RSAPrivateKey {
        let context = unsafe LibCrypto.require(EVP_PKEY_CTX_new_id(EVP_PKEY_RSA, nil))
        defer { unsafe EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard unsafe EVP_PKEY_keygen_init(context) == 1,
            unsafe EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048) == 1,
            unsafe EVP_PKEY_generate(context, &key) == 1, let key = unsafe key
        else {
            // There is no memory or no entropy. No peer can cause this, and the process cannot continue without.
            fatalError("libcrypto makes no key")
        }
        return unsafe RSAPrivateKey(RSAKeyHandle(owning: key))
    }

    /// - Parameter der: The key as PKCS#1 or PKCS#8.
    /// - Returns: The key, or nil if the bytes are not an RSA key.
    package init?(der: [UInt8]) {
        let key = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            return unsafe d2i_AutoPrivateKey(nil, &position, buffer.count)
        }
        ERR_clear_error()
        guard let key = unsafe key else { return nil }
        let handle = unsafe RSAKeyHandle(owning: key)
        guard handle.isRSA else { return nil }
        self.init(handle)
    }

    /// - Parameter pem: The key as PKCS#8.
    package init?(pem: String) {
        guard let der = PEM.decode(pem, label: "PRIVATE KEY") else { return nil }
        self.init(der: der)
    }

    /// The key as PKCS#1, which is secret.
    package var der: [UInt8] { handle.privateDER }

    /// Signs the SHA-512 of the message.
    package func signature(of message: [UInt8]) -> [UInt8] {
        let digest = SHA512.hash(message).bytes
        let signature = unsafe handle.withContext { context -> [UInt8]? in
            guard unsafe EVP_PKEY_sign_init(context) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_signature_md(context, LibCrypto.sha512) == 1
            else { return nil }
            var signature = [UInt8](repeating: 0, count: handle.blockByteCount)
            var count = signature.count
            guard unsafe EVP_PKEY_sign(context, &signature, &count, digest, digest.count) == 1 else { return nil }
            return signature
        }
        // A digest fits into every supported key: the call fails only without memory.
        guard let signature else { fatalError("libcrypto failed") }
        return signature
    }

    /// - Returns: The message, or nil if the block was not encrypted for this key with this padding. For PKCS#1 newer versions of libcrypto
    ///   return random bytes instead, so that the result does not reveal the failure.
    package func decrypt(_ block: [UInt8], padding: RSAPadding) -> [UInt8]? {
        unsafe handle.withContext { context in
            guard unsafe EVP_PKEY_decrypt_init(context) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, padding.number) == 1
            else { return nil }
            var message = [UInt8](repeating: 0, count: handle.blockByteCount)
            var count = message.count
            guard unsafe EVP_PKEY_decrypt(context, &message, &count, block, block.count) == 1 else { return nil }
            return Array(message.prefix(count))
        }
    }
}

extension RSAPrivateKey: CustomStringConvertible, CustomReflectable {
    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
