import CLibCrypto
import CSecp256k1
import Foundation

/// The contexts and buffers of one thread, and the bare calls. The worker discards results, and failures end the program.
@safe final class FloorWorker {
    private let curve: OpaquePointer
    private let digestContext: OpaquePointer
    private let cipherContext: OpaquePointer
    private let sha256: OpaquePointer
    private let aes256GCM: OpaquePointer
    private let aes128CTR: OpaquePointer
    private let key = [UInt8](repeating: 7, count: 32)
    private let vector = [UInt8](repeating: 9, count: 16)
    private var output = [UInt8](repeating: 0, count: 4096)
    private var shared = [UInt8](repeating: 0, count: 32)
    private var random = [UInt8](repeating: 0, count: 512)

    init() {
        guard let curve = unsafe secp256k1_context_create(UInt32(SECP256K1_CONTEXT_NONE)),
            let digestContext = unsafe EVP_MD_CTX_new(), let cipherContext = unsafe EVP_CIPHER_CTX_new(),
            let sha256 = unsafe EVP_MD_fetch(nil, "SHA2-256", nil), let aes256GCM = unsafe EVP_CIPHER_fetch(nil, "AES-256-GCM", nil),
            let aes128CTR = unsafe EVP_CIPHER_fetch(nil, "AES-128-CTR", nil)
        else {
            // The machine has no memory, or libcrypto lacks these algorithms. A benchmark has no peer that could cause this, and cannot
            // continue.
            fatalError("the libraries are not usable")
        }
        unsafe self.curve = curve
        unsafe self.digestContext = digestContext
        unsafe self.cipherContext = cipherContext
        unsafe self.sha256 = sha256
        unsafe self.aes256GCM = aes256GCM
        unsafe self.aes128CTR = aes128CTR
        // The engine's context is blinded too.
        unsafe require(secp256k1_context_randomize(curve, key))
    }

    deinit {
        unsafe secp256k1_context_destroy(curve)
        unsafe EVP_MD_CTX_free(digestContext)
        unsafe EVP_CIPHER_CTX_free(cipherContext)
        unsafe EVP_MD_free(sha256)
        unsafe EVP_CIPHER_free(aes256GCM)
        unsafe EVP_CIPHER_free(aes128CTR)
    }

    // MARK: A message

    /// Computes the message hash, which identifies duplicates.
    func hashEnvelope(_ bytes: [UInt8]) { hash(bytes, byteCount: bytes.count) }

    /// Opens ECIES: ECDH, two SHA-256 for the keys, HMAC, AES-CTR.
    func openAsymmetric(_ frame: [UInt8], ephemeral: [UInt8]) {
        agree(with: parse(ephemeral))
        applyECIES(to: frame, byteCount: frame.count)
    }

    /// Opens AES-256-GCM.
    func openSymmetric(_ frame: [UInt8]) { decryptGCM(frame) }

    /// Checks that a key could be recovered from a signature: both numbers are in range, and R is the X of a point.
    func checkOuterSignature(_ signature: [UInt8]) {
        var parsed = secp256k1_ecdsa_recoverable_signature()
        unsafe require(secp256k1_ecdsa_recoverable_signature_parse_compact(curve, &parsed, signature, Int32(signature[64])))
        var point = [UInt8](repeating: 2, count: 33)
        for index in 0..<32 { point[index + 1] = signature[index] }
        var key = secp256k1_pubkey()
        unsafe require(secp256k1_ec_pubkey_parse(curve, &key, point, 33))
    }

    /// Recovers the sender.
    func recover(_ signature: [UInt8], _ digest: [UInt8]) {
        var parsed = secp256k1_ecdsa_recoverable_signature()
        unsafe require(secp256k1_ecdsa_recoverable_signature_parse_compact(curve, &parsed, signature, Int32(signature[64])))
        var key = secp256k1_pubkey()
        unsafe require(secp256k1_ecdsa_recover(curve, &key, &parsed, digest))
        serialize(key)
    }

    /// Opens a registration: ECDH with the sender, AES-GCM, SHA-256 of the plaintext.
    func openRegistration(_ plaintext: [UInt8], sender: [UInt8]) {
        agree(with: parse(sender))
        decryptGCM(plaintext)
        hash(plaintext, byteCount: plaintext.count)
    }

    /// Verifies the grant. The engine recovers here too, because V decides. Verification is the cheaper of the two calls.
    func verify(_ signature: [UInt8], _ digest: [UInt8], by signer: [UInt8]) {
        var parsed = secp256k1_ecdsa_signature()
        unsafe require(secp256k1_ecdsa_signature_parse_compact(curve, &parsed, signature))
        var key = parse(signer)
        unsafe require(secp256k1_ecdsa_verify(curve, &parsed, digest, &key))
    }

    /// Seals a reply: two signatures, a fresh key, ECDH, the rest of ECIES, and the random bytes of key, vector and padding.
    func reply(to sender: [UInt8], frameByteCount: Int) {
        sign()
        sign()
        unsafe require(RAND_bytes(&random, Int32(32 + 16 + 128)))
        var ephemeral = secp256k1_pubkey()
        unsafe require(secp256k1_ec_pubkey_create(curve, &ephemeral, key))
        serialize(ephemeral)
        agree(with: parse(sender))
        applyECIES(to: output, byteCount: frameByteCount)
    }

    // MARK: Operations

    private func parse(_ encoded: [UInt8]) -> secp256k1_pubkey {
        var key = secp256k1_pubkey()
        unsafe require(secp256k1_ec_pubkey_parse(curve, &key, encoded, encoded.count))
        return key
    }

    private func serialize(_ key: secp256k1_pubkey) {
        var key = key
        var byteCount = 65
        unsafe require(secp256k1_ec_pubkey_serialize(curve, &output, &byteCount, &key, UInt32(SECP256K1_EC_UNCOMPRESSED)))
    }

    private func agree(with point: secp256k1_pubkey) {
        var point = point
        unsafe require(
            secp256k1_ecdh(
                curve, &shared, &point, key,
                { output, x, _, _ in
                    guard let output = unsafe output, let x = unsafe x else { return 0 }
                    unsafe memcpy(output, x, 32)
                    return 1
                }, nil))
    }

    private func sign() {
        var signature = secp256k1_ecdsa_recoverable_signature()
        unsafe require(secp256k1_ecdsa_sign_recoverable(curve, &signature, shared, key, nil, nil))
        var number: Int32 = 0
        unsafe require(secp256k1_ecdsa_recoverable_signature_serialize_compact(curve, &output, &number, &signature))
    }

    private func hash(_ bytes: [UInt8], byteCount: Int) {
        unsafe require(EVP_DigestInit_ex2(digestContext, sha256, nil))
        unsafe require(EVP_DigestUpdate(digestContext, bytes, byteCount))
        unsafe require(EVP_DigestFinal_ex(digestContext, &output, nil))
    }

    private func applyECIES(to bytes: [UInt8], byteCount: Int) {
        hash(shared, byteCount: 32)
        hash(shared, byteCount: 16)
        unsafe require(HMAC(EVP_sha256(), key, 32, bytes, byteCount, &shared, nil) == nil ? 0 : 1)
        unsafe require(EVP_CipherInit_ex2(cipherContext, aes128CTR, key, vector, 1, nil))
        var written: Int32 = 0
        unsafe require(EVP_CipherUpdate(cipherContext, &output, &written, bytes, Int32(byteCount)))
    }

    /// Decrypts up to the tag, whose comparison is free.
    private func decryptGCM(_ bytes: [UInt8]) {
        unsafe require(EVP_CipherInit_ex2(cipherContext, aes256GCM, key, vector, 0, nil))
        var written: Int32 = 0
        unsafe require(EVP_CipherUpdate(cipherContext, &output, &written, bytes, Int32(bytes.count)))
        unsafe require(EVP_CIPHER_CTX_ctrl(cipherContext, EVP_CTRL_AEAD_SET_TAG, 16, &shared))
        _ = unsafe EVP_CipherFinal_ex(cipherContext, &output, &written)
    }

    private func require(_ status: Int32) {
        // The inputs are our own and valid. After a failure the floor would measure something else, so it must not return a figure.
        guard status == 1 else { fatalError("an operation of the floor failed") }
    }
}
