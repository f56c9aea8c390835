package import Bytes
import CryptoLibrary

/// The error for bytes that do not authenticate under the key.
package struct AuthenticationFailure: Error, Equatable {
    package init() {}
}

/// AES-256-GCM with a tag of 16 bytes.
package enum AESGCM {
    /// The size of a nonce in bytes, for callers that cut and join.
    package static let nonceByteCount = 12
    /// The full size of a tag in bytes. Shorter tags are rejected.
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
        var sealed: [UInt8] = []
        // The capacity includes a nonce, because the payloads of Waku messages end with it.
        sealed.reserveCapacity(plaintext.count + tagByteCount + nonceByteCount)
        sealed.append(copying: plaintext)
        var tag = FixedBytes<16>()
        key.withExposedBytes { key in
            unsafe tag.withUnsafeMutablePointer { tag in
                unsafe CryptoLibrary.sealAES256GCM(&sealed, key: key, nonce: nonce.span, associatedData: associatedData, into: tag)
            }
        }
        sealed.append(copying: tag.span)
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
        var plaintext = [UInt8](copying: sealed.extracting(droppingLast: tagByteCount))
        let isAuthentic = key.withExposedBytes { key in
            unsafe tag.span.withUnsafePointer { tag in
                unsafe CryptoLibrary.openAES256GCM(&plaintext, key: key, nonce: nonce.span, associatedData: associatedData, tag: tag)
            }
        }
        guard isAuthentic else { throw AuthenticationFailure() }
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
        CryptoLibrary.applyAES128CTR(to: &bytes, key: key.span, initializationVector: initializationVector.span)
    }
}
