package import Bytes
import CLibCrypto
import CryptoLibrary
import StatusCrypto

/// An RSA key that verifies (RSASSA-PKCS1-v1_5 with SHA-512) and encrypts. Two keys are equal if their DER is, in whatever form they were
/// read.
package struct RSAPublicKey: Sendable {
    /// The supported lengths in bits. Shorter keys can be broken, and longer keys make a verification too expensive for an untrusted
    /// client.
    package static let bitCounts = 2_048...8_192
    /// The maximum length of the public exponent, usually 65,537: a long exponent makes a verification as slow as a signature.
    private static let maximumExponentBitCount = 33

    private static let label = "PUBLIC KEY"

    let handle: RSAKeyHandle
    /// The SubjectPublicKeyInfo as libcrypto writes it.
    package let der: [UInt8]

    init(_ handle: RSAKeyHandle) {
        self.init(handle, der: handle.publicDER)
    }

    init(_ handle: RSAKeyHandle, der: [UInt8]) {
        self.handle = handle
        self.der = der
    }

    /// - Returns: The key, or nil unless the bytes are exactly an RSA key in SPKI, of ``bitCounts`` bits.
    package init?(der: [UInt8]) {
        let key = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var position = buffer.baseAddress
            guard let key = unsafe d2i_PUBKEY(nil, &position, buffer.count) else { return nil }
            // Trailing bytes are an error.
            guard let start = buffer.baseAddress, let end = unsafe position, unsafe end - start == buffer.count else {
                unsafe EVP_PKEY_free(key)
                return nil
            }
            return unsafe key
        }
        ERR_clear_error()
        guard let key = unsafe key else { return nil }
        let handle = unsafe RSAKeyHandle(owning: key)
        guard handle.isRSA, Self.bitCounts.contains(handle.bitCount), Self.hasShortExponent(handle) else { return nil }
        self.init(handle)
    }

    /// - Returns: The key, or nil unless the text is such a key as `PUBLIC KEY`, in ``PEM``.
    package init?(pem: String) {
        guard let der = PEM.decode(pem, label: Self.label) else { return nil }
        self.init(der: der)
    }

    /// The key as OpenSSL writes it, with a line end after the last line.
    package var pem: String { PEM.encode(der, label: Self.label) }

    /// The length of signatures and of ciphertexts.
    package var blockByteCount: Int { handle.blockByteCount }

    /// Whether the signature is valid for a SHA-512 that was computed before.
    package func isValidSignature(_ signature: [UInt8], ofDigest digest: Digest64) -> Bool {
        // libcrypto would accept leading zeros.
        guard signature.count == blockByteCount else { return false }
        return unsafe handle.withContext { context in
            guard unsafe EVP_PKEY_verify_init(context) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, RSA_PKCS1_PADDING) == 1,
                unsafe EVP_PKEY_CTX_set_signature_md(context, LibCrypto.sha512) == 1
            else { return nil }
            let digest = digest.bytes
            return unsafe EVP_PKEY_verify(context, signature, signature.count, digest, digest.count) == 1
        } ?? false
    }

    /// Whether the signature is valid for the message's SHA-512.
    package func isValidSignature(_ signature: [UInt8], of message: [UInt8]) -> Bool {
        isValidSignature(signature, ofDigest: SHA512.hash(message))
    }

    /// Encrypts a block.
    ///
    /// - Returns: The block, or nil if the message does not fit or libcrypto rejects the key.
    package func encrypt(_ message: [UInt8], padding: RSAPadding) -> [UInt8]? {
        unsafe handle.withContext { context in
            guard unsafe EVP_PKEY_encrypt_init(context) == 1,
                unsafe EVP_PKEY_CTX_set_rsa_padding(context, padding.number) == 1
            else { return nil }
            var block = [UInt8](repeating: 0, count: blockByteCount)
            var count = block.count
            guard unsafe EVP_PKEY_encrypt(context, &block, &count, message, message.count) == 1 else { return nil }
            return Array(block.prefix(count))
        }
    }

    private static func hasShortExponent(_ handle: RSAKeyHandle) -> Bool {
        var exponent: OpaquePointer?
        guard unsafe EVP_PKEY_get_bn_param(handle.pointer, "e", &exponent) == 1 else { return false }
        defer { unsafe BN_free(exponent) }
        return unsafe (2...Int32(maximumExponentBitCount)).contains(BN_num_bits(exponent)) && BN_is_odd(exponent) == 1
    }
}

extension RSAPublicKey: Hashable {
    package static func == (left: Self, right: Self) -> Bool { left.der == right.der }

    package func hash(into hasher: inout Hasher) { hasher.combine(der) }
}
