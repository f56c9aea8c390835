package import StatusCrypto

/// 26/WAKU2-PAYLOAD: the encrypted `payload` of a Waku message of version 1 (PROTOCOL.md §3).
///
/// Opening a frame tells nothing of the sender: that is `ApplicationMetadata`'s. A frame that holds one segment of a longer message
/// belongs to the set of its outer signer, which `Frame.signer()` recovers.
package enum RFC26 {
    /// The `version` of a Waku message with such a payload. Any other, and none, is not for us.
    package static let messageVersion: UInt32 = 1

    /// Why a payload could not be opened.
    package enum OpenError: Error, Equatable {
        /// Too short, of another recipient or key, or damaged.
        case undecryptable
        /// Decrypted, but the sizes in the frame do not fit.
        case malformedFrame
        /// Signed with something from which no key could be recovered.
        case malformedSignature
    }

    /// Encrypts to the owner of a key.
    ///
    /// - Parameters:
    ///   - data: less than 16 MiB.
    ///   - signer: reference clients drop what is not signed: nil is for tests.
    @specialized(where Random == SecureRandom)
    package static func sealAsymmetric<Random: RandomNumberGenerator>(
        _ data: [UInt8], to recipient: PublicKey, signer: PrivateKey?, using random: inout Random
    ) throws(DataTooLong) -> [UInt8] {
        let frame = try Frame.encode(data, signer: signer, using: &random)
        return ECIES.seal(frame.span, to: recipient, using: &random)
    }

    /// Encrypts with the key of a topic.
    ///
    /// - Parameters: as of `sealAsymmetric`.
    package static func sealSymmetric(
        _ data: [UInt8], key: SymmetricKey, signer: PrivateKey?, using random: inout some RandomNumberGenerator
    ) throws(DataTooLong) -> [UInt8] {
        let frame = try Frame.encode(data, signer: signer, using: &random)
        return seal(frame, key: key, nonce: random.fixedBytes())
    }

    /// AES-256-GCM: `ciphertext ‖ tag(16) ‖ nonce(12)`.
    static func seal(_ frame: [UInt8], key: SymmetricKey, nonce: FixedBytes<12>) -> [UInt8] {
        var payload = AESGCM.seal(frame.span, key: key, nonce: nonce)
        payload.append(copying: nonce.span)
        return payload
    }

    /// Decrypts what was sealed to a key, and reads the frame.
    package static func openAsymmetric(_ payload: [UInt8], with key: PrivateKey) throws(OpenError) -> Frame {
        guard let frame = try? ECIES.open(payload.span, with: key) else { throw .undecryptable }
        return try Frame(decoding: frame)
    }

    /// Decrypts what was sealed with the key of a topic, and reads the frame.
    package static func openSymmetric(_ payload: [UInt8], with key: SymmetricKey) throws(OpenError) -> Frame {
        guard let frame = decrypt(payload.span, with: key) else { throw .undecryptable }
        return try Frame(decoding: frame)
    }

    /// nil for fewer than 28 bytes too.
    static func decrypt(_ payload: Span<UInt8>, with key: SymmetricKey) -> [UInt8]? {
        guard let nonce = FixedBytes<12>(payload.extracting(last: AESGCM.nonceByteCount)) else { return nil }
        return try? AESGCM.open(payload.extracting(droppingLast: AESGCM.nonceByteCount), key: key, nonce: nonce)
    }
}
