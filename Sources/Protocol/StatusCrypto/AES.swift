package import Bytes
import CLibCrypto

/// The error for bytes that do not authenticate under the key.
package struct AuthenticationFailure: Error, Equatable {
    package init() {}
}

/// AES-256-GCM with a tag of 16 bytes.
package enum AESGCM {
    /// The size of a nonce in bytes, for callers that cut and join.
    package static let nonceByteCount = 12
    /// The full size of a tag in bytes; shorter tags are rejected.
    package static let tagByteCount = 16

    /// Encrypts and authenticates.
    ///
    /// - Parameters:
    ///   - nonce: A nonce that is never used twice with the same key.
    ///   - associatedData: Bytes that are authenticated and not encrypted.
    /// - Returns: The ciphertext, as long as the plaintext, ‖ tag (16 bytes).
    package static func seal(
        _ plaintext: Span<UInt8>, key: SymmetricKey, nonce: FixedBytes<12>, associatedData: [UInt8] = []
    ) -> [UInt8] {
        var context = key.withExposedBytes {
            unsafe CipherContext(LibCrypto.aes256GCM, .encrypt, key: $0, initializationVector: nonce.span)
        }
        context.authenticate(associatedData)
        var sealed: [UInt8] = []
        // The capacity includes a nonce: one of the layouts appends it.
        sealed.reserveCapacity(plaintext.count + tagByteCount + nonceByteCount)
        sealed.append(copying: plaintext)
        context.apply(to: &sealed)
        sealed.append(copying: context.authenticationTag().span)
        return sealed
    }

    /// Authenticates and decrypts.
    ///
    /// - Parameters:
    ///   - sealed: The ciphertext ‖ tag (16 bytes), of any length.
    ///   - associatedData: The bytes that were authenticated with it.
    package static func open(
        _ sealed: Span<UInt8>, key: SymmetricKey, nonce: FixedBytes<12>, associatedData: [UInt8] = []
    ) throws(AuthenticationFailure) -> [UInt8] {
        guard sealed.count >= tagByteCount, let tag = FixedBytes<16>(sealed.extracting(last: tagByteCount)) else {
            throw AuthenticationFailure()
        }
        var context = key.withExposedBytes {
            unsafe CipherContext(LibCrypto.aes256GCM, .decrypt, key: $0, initializationVector: nonce.span)
        }
        context.authenticate(associatedData)
        var plaintext = [UInt8](copying: sealed.extracting(droppingLast: tagByteCount))
        context.apply(to: &plaintext)
        guard context.accepts(tag) else { throw AuthenticationFailure() }
        return plaintext
    }

    /// Encrypts and authenticates.
    ///
    /// - Returns: The nonce (12 bytes) ‖ ciphertext ‖ tag (16): the layout of a registration (PROTOCOL.md §7).
    package static func sealCombined(_ plaintext: Span<UInt8>, key: SymmetricKey, nonce: FixedBytes<12>) -> [UInt8] {
        nonce.bytes + seal(plaintext, key: key, nonce: nonce)
    }

    /// Authenticates and decrypts.
    ///
    /// - Parameter combined: The nonce (12 bytes) ‖ ciphertext ‖ tag (16), of any length.
    package static func openCombined(_ combined: Span<UInt8>, key: SymmetricKey) throws(AuthenticationFailure) -> [UInt8] {
        guard let nonce = FixedBytes<12>(combined.extracting(first: nonceByteCount)) else { throw AuthenticationFailure() }
        return try open(combined.extracting(droppingFirst: nonceByteCount), key: key, nonce: nonce)
    }
}

/// AES-128 in counter mode.
package enum AESCTR {
    /// Encrypts or decrypts, which is the same operation.
    package static func apply(to bytes: inout [UInt8], key: FixedBytes<16>, initializationVector: FixedBytes<16>) {
        var context = unsafe CipherContext(LibCrypto.aes128CTR, .encrypt, key: key.span, initializationVector: initializationVector.span)
        context.apply(to: &bytes)
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
        unsafe key.withUnsafePointer { key in
            unsafe initializationVector.withUnsafePointer { vector in
                unsafe LibCrypto.require(EVP_CipherInit_ex2(context, cipher, key, vector, direction.rawValue, nil))
            }
        }
    }

    deinit { unsafe EVP_CIPHER_CTX_free(context) }

    /// Encrypts or decrypts in place, which counter modes allow; in steps, because libcrypto counts in Int32.
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
        unsafe bytes.span.withUnsafePointer {
            unsafe LibCrypto.require(EVP_CipherUpdate(context, nil, &written, $0, Int32(bytes.count)))
        }
    }

    /// Ends a GCM encryption and returns its tag.
    package mutating func authenticationTag() -> FixedBytes<16> {
        LibCrypto.require(finish())
        var tag = FixedBytes<16>()
        unsafe tag.withUnsafeMutablePointer {
            unsafe LibCrypto.require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, 16, $0))
        }
        return tag
    }

    /// Ends a GCM decryption and verifies its tag; libcrypto compares in constant time.
    package mutating func accepts(_ tag: FixedBytes<16>) -> Bool {
        var tag = tag
        unsafe tag.withUnsafeMutablePointer {
            unsafe LibCrypto.require(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, 16, $0))
        }
        return finish() == 1
    }

    private mutating func finish() -> Int32 {
        // Counter modes write no final block.
        var rest: UInt8 = 0
        var written: Int32 = 0
        return unsafe EVP_CipherFinal_ex(context, &rest, &written)
    }
}
