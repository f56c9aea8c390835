import CLibCrypto

/// The cryptographic functions that clients need, as libcrypto has them.
///
/// No other file in the client's modules knows libcrypto. A port to another library replaces it with a file that has the same static
/// functions, and the vectors in StatusCryptoTests test what is compiled in. Pointers are valid for the given count, and outputs have the
/// algorithm's length.
package enum CryptoLibrary {
    // MARK: Memory

    /// Overwrites bytes in a way that no optimiser removes.
    package static func wipe(_ start: UnsafeMutableRawPointer?, count: Int) {
        unsafe OPENSSL_cleanse(start, count)
    }

    /// Compares bytes in a time that does not depend on the position of a difference.
    package static func areEqual(_ left: UnsafeRawPointer?, _ right: UnsafeRawPointer?, count: Int) -> Bool {
        unsafe CRYPTO_memcmp(left, right, count) == 0
    }

    /// Fills memory with random bytes for keys.
    package static func randomize(_ start: UnsafeMutablePointer<UInt8>, count: Int32) {
        // The system provides no entropy. No peer can cause this, and the process cannot continue without.
        guard unsafe RAND_bytes(start, count) == 1 else { fatalError("libcrypto has no random bytes") }
    }

    // MARK: SHA-256

    /// A computation of SHA-256 in parts.
    package typealias SHA256Context = OpaquePointer

    package static func createSHA256() -> SHA256Context {
        let context = unsafe LibCrypto.require(EVP_MD_CTX_new())
        unsafe LibCrypto.require(EVP_DigestInit_ex2(context, LibCrypto.sha256, nil))
        return unsafe context
    }

    package static func updateSHA256(_ context: SHA256Context, _ start: UnsafePointer<UInt8>, count: Int) {
        unsafe LibCrypto.require(EVP_DigestUpdate(context, start, count))
    }

    package static func finishSHA256(_ context: SHA256Context, into digest: UnsafeMutablePointer<UInt8>) {
        unsafe LibCrypto.require(EVP_DigestFinal_ex(context, digest, nil))
    }

    package static func destroySHA256(_ context: SHA256Context) {
        unsafe EVP_MD_CTX_free(context)
    }

    /// HMAC-SHA256 with a key of any length but zero.
    package static func hmacSHA256(
        of start: UnsafePointer<UInt8>, count: Int, key: UnsafePointer<UInt8>, keyCount: Int, into code: UnsafeMutablePointer<UInt8>
    ) {
        let isComputed = unsafe HMAC(LibCrypto.sha256, key, Int32(keyCount), start, count, code, nil) != nil
        LibCrypto.require(isComputed ? 1 : 0)
    }

    /// PBKDF2 with HMAC-SHA256, for a key of 32 bytes.
    package static func pbkdf2SHA256(
        password: String, salt: UnsafePointer<UInt8>, saltCount: Int, iterations: Int32, into key: UnsafeMutablePointer<UInt8>
    ) {
        unsafe LibCrypto.require(
            PKCS5_PBKDF2_HMAC(
                password, Int32(password.utf8.count), salt, Int32(saltCount), iterations, LibCrypto.sha256, 32, key))
    }

    // MARK: AES

    /// Encrypts or decrypts in place with AES-128 in counter mode, which is the same operation.
    package static func applyAES128CTR(to bytes: inout [UInt8], key: Span<UInt8>, initializationVector: Span<UInt8>) {
        var context = unsafe CipherContext(LibCrypto.aes128CTR, .encrypt, key: key, initializationVector: initializationVector)
        context.apply(to: &bytes)
    }

    /// Encrypts in place with AES-256-GCM, and writes the tag of 16 bytes.
    package static func sealAES256GCM(
        _ bytes: inout [UInt8], key: Span<UInt8>, nonce: Span<UInt8>, associatedData: [UInt8], into tag: UnsafeMutablePointer<UInt8>
    ) {
        var context = unsafe CipherContext(LibCrypto.aes256GCM, .encrypt, key: key, initializationVector: nonce)
        context.authenticate(associatedData)
        context.apply(to: &bytes)
        unsafe context.writeAuthenticationTag(to: tag)
    }

    /// Decrypts in place with AES-256-GCM.
    ///
    /// - Parameter tag: The tag, 16 bytes.
    /// - Returns: Whether the tag is right. Otherwise the bytes must not be used.
    package static func openAES256GCM(
        _ bytes: inout [UInt8], key: Span<UInt8>, nonce: Span<UInt8>, associatedData: [UInt8], tag: UnsafePointer<UInt8>
    ) -> Bool {
        var context = unsafe CipherContext(LibCrypto.aes256GCM, .decrypt, key: key, initializationVector: nonce)
        context.authenticate(associatedData)
        context.apply(to: &bytes)
        return unsafe context.accepts(tag)
    }
}

/// The algorithms of libcrypto, fetched once: a fetch in each call would take locks and more time than hashing a short message.
///
/// Sharing them is safe: a fetched algorithm never changes, and its reference count, which contexts raise and drop, is atomic.
package enum LibCrypto {
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) fileprivate static let sha256 = unsafe fetchDigest("SHA2-256")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) fileprivate static let aes256GCM = unsafe fetchCipher("AES-256-GCM")
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) fileprivate static let aes128CTR = unsafe fetchCipher("AES-128-CTR")

    /// Checks calls that fail only without memory. The process then ends, as in Swift's own allocations.
    package static func require(_ status: Int32) {
        guard status == 1 else { fatalError("libcrypto failed") }
    }

    /// Checks calls that return an object, or nil only without memory.
    package static func require(_ handle: OpaquePointer?) -> OpaquePointer {
        guard let handle = unsafe handle else { fatalError("libcrypto has no memory") }
        return unsafe handle
    }

    // Ending the process is right: nil means an unusable installation, which no peer can cause.
    package static func fetchDigest(_ name: String) -> OpaquePointer {
        guard let digest = unsafe EVP_MD_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe digest
    }

    // Ending the process is right: nil means an unusable installation, which no peer can cause.
    package static func fetchCipher(_ name: String) -> OpaquePointer {
        guard let cipher = unsafe EVP_CIPHER_fetch(nil, name, nil) else { fatalError("libcrypto lacks \(name)") }
        return unsafe cipher
    }
}

/// One encryption or decryption.
@safe package struct CipherContext: ~Copyable {
    package enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    private let context: OpaquePointer

    /// The spans have the lengths that the cipher requires.
    package init(_ cipher: OpaquePointer, _ direction: Direction, key: Span<UInt8>, initializationVector: Span<UInt8>) {
        unsafe context = LibCrypto.require(EVP_CIPHER_CTX_new())
        unsafe key.withUnsafeBufferPointer { key in
            unsafe initializationVector.withUnsafeBufferPointer { vector in
                unsafe LibCrypto.require(
                    EVP_CipherInit_ex2(context, cipher, key.baseAddress, vector.baseAddress, direction.rawValue, nil))
            }
        }
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts in place, which counter modes allow. It does so in steps, because libcrypto counts in Int32.
    package mutating func apply(to bytes: inout [UInt8]) {
        unsafe bytes.withUnsafeMutableBufferPointer { buffer in
            guard let base = buffer.baseAddress else { return }
            for start in stride(from: 0, to: buffer.count, by: 1 << 30) {
                let count = Int32(min(1 << 30, buffer.count - start))
                var written: Int32 = 0
                unsafe LibCrypto.require(EVP_CipherUpdate(context, base + start, &written, base + start, count))
            }
        }
    }

    /// Adds associated data of GCM, before the text.
    package mutating func authenticate(_ bytes: [UInt8]) {
        guard !bytes.isEmpty else { return }
        var written: Int32 = 0
        unsafe bytes.withUnsafeBufferPointer {
            unsafe LibCrypto.require(EVP_CipherUpdate(context, nil, &written, $0.baseAddress, Int32($0.count)))
        }
    }

    /// Ends an encryption, and writes its tag of 16 bytes.
    package mutating func writeAuthenticationTag(to tag: UnsafeMutablePointer<UInt8>) {
        LibCrypto.require(finish())
        unsafe LibCrypto.require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, tag))
    }

    /// Finishes a decryption and verifies its tag of 16 bytes, which libcrypto compares in constant time.
    package mutating func accepts(_ tag: UnsafePointer<UInt8>) -> Bool {
        // libcrypto only reads the tag, although the function's type does not say so.
        unsafe LibCrypto.require(
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, UnsafeMutablePointer(mutating: tag)))
        return finish() == 1
    }

    private mutating func finish() -> Int32 {
        // Counter modes write no final block.
        var rest: UInt8 = 0
        var written: Int32 = 0
        return unsafe EVP_CipherFinal_ex(context, &rest, &written)
    }
}
