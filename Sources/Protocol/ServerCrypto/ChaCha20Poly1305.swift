package import Bytes
import CryptoLibrary
package import StatusCrypto

/// ChaCha20-Poly1305 with a tag of 16 bytes and no associated data, RFC 8439.
package enum ChaCha20Poly1305 {
    /// The size of a tag in bytes.
    package static let tagByteCount = 16

    /// Encrypts and authenticates.
    ///
    /// - Parameter nonce: A nonce that is never used twice with the same key.
    /// - Returns: The ciphertext, as long as the plaintext, ‖ tag (16 bytes).
    package static func seal(_ plaintext: Span<UInt8>, key: SymmetricKey, nonce: FixedBytes<12>) -> [UInt8] {
        var context = key.withExposedBytes {
            unsafe CipherContext(LibCrypto.chaCha20Poly1305, .encrypt, key: $0, initializationVector: nonce.span)
        }
        var sealed: [UInt8] = []
        sealed.reserveCapacity(plaintext.count + tagByteCount)
        sealed.append(copying: plaintext)
        context.apply(to: &sealed)
        var tag = FixedBytes<16>()
        unsafe tag.withUnsafeMutablePointer { unsafe context.writeAuthenticationTag(to: $0) }
        sealed.append(copying: tag.span)
        return sealed
    }

    /// Authenticates and decrypts.
    ///
    /// - Parameter sealed: The ciphertext ‖ tag (16 bytes), of any length.
    package static func open(
        _ sealed: Span<UInt8>, key: SymmetricKey, nonce: FixedBytes<12>
    ) throws(AuthenticationFailure) -> [UInt8] {
        guard sealed.count >= tagByteCount, let tag = FixedBytes<16>(sealed.extracting(last: tagByteCount)) else {
            throw AuthenticationFailure()
        }
        var context = key.withExposedBytes {
            unsafe CipherContext(LibCrypto.chaCha20Poly1305, .decrypt, key: $0, initializationVector: nonce.span)
        }
        var plaintext = [UInt8](copying: sealed.extracting(droppingLast: tagByteCount))
        context.apply(to: &plaintext)
        guard unsafe tag.span.withUnsafePointer({ unsafe context.accepts($0) }) else { throw AuthenticationFailure() }
        return plaintext
    }
}

extension LibCrypto {
    // Safe: Swift's lock guards the initialisation, and a fetched algorithm never changes.
    nonisolated(unsafe) fileprivate static let chaCha20Poly1305 = unsafe fetchCipher("ChaCha20-Poly1305")
}
