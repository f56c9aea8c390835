package import Bytes
package import StatusCrypto

/// The encrypted `payload` of a Waku message, as in 26/WAKU2-PAYLOAD (PROTOCOL.md §3).
///
/// An opened frame does not identify the sender. `ApplicationMetadata` does. A frame with a segment of a longer message belongs to the set
/// of its outer signer, which `Frame.signer()` recovers.
package enum RFC26 {
    /// The `version` of the messages that we send. Apps before Status 2.38 read only this version.
    package static let messageVersion: UInt32 = 1

    /// Whether a message of this `version` has such a payload. Status labels its messages with 0 since version 2.40, and with 1 before:
    /// the payload is the same.
    package static func isReadable(version: UInt32) -> Bool { version <= 1 }

    /// The reason why a payload cannot be opened.
    package enum OpenError: Error, Equatable {
        /// The payload is too short, encrypted with another key, or damaged.
        case undecryptable
        /// The sizes in the decrypted frame do not fit.
        case malformedFrame
        /// No key can be recovered from the signature.
        case malformedSignature
    }

    /// Encrypts to a public key.
    ///
    /// - Parameters:
    ///   - data: The data, less than 16 MiB.
    ///   - signer: The outer signer. Nil is for tests: reference clients drop unsigned frames.
    @specialized(where Random == SecureRandom)
    package static func sealAsymmetric<Random: RandomNumberGenerator>(
        _ data: [UInt8], to recipient: PublicKey, signer: PrivateKey?, using random: inout Random
    ) throws(DataTooLong) -> [UInt8] {
        let frame = try Frame.encode(data, signer: signer, using: &random)
        return ECIES.seal(frame.span, to: recipient, using: &random)
    }

    /// Encrypts with a topic's key.
    ///
    /// - Parameters: See `sealAsymmetric`.
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

    /// Decrypts a payload for a private key, and reads the frame.
    package static func openAsymmetric(_ payload: [UInt8], with key: PrivateKey) throws(OpenError) -> Frame {
        guard let frame = try? ECIES.open(payload.span, with: key) else { throw .undecryptable }
        return try Frame(decoding: frame)
    }

    /// Decrypts a payload with a topic's key, and reads the frame.
    package static func openSymmetric(_ payload: [UInt8], with key: SymmetricKey) throws(OpenError) -> Frame {
        guard let frame = decrypt(payload.span, with: key) else { throw .undecryptable }
        return try Frame(decoding: frame)
    }

    /// Returns nil also for fewer than 28 bytes.
    static func decrypt(_ payload: Span<UInt8>, with key: SymmetricKey) -> [UInt8]? {
        guard let nonce = FixedBytes<12>(payload.extracting(last: AESGCM.nonceByteCount)) else { return nil }
        return try? AESGCM.open(payload.extracting(droppingLast: AESGCM.nonceByteCount), key: key, nonce: nonce)
    }
}
