import Envelope
import StatusCrypto
import Wire

/// Signs a message, cuts it into segments when it is long, and encrypts each piece (PROTOCOL.md §3 and §5).
struct Sealing {
    /// How long a message of this node may be.
    let segmenter: Segmenter
    /// Signs the message and its frames.
    let signer: PrivateKey

    /// The message as it is signed; by its bytes it is known, and its answer recognised.
    func sign(_ payload: [UInt8], type: MessageType) -> [UInt8] {
        ApplicationMetadata.seal(payload, type: type, signer: signer)
    }

    /// Encrypts to the owner of a key.
    func encrypt(
        _ data: [UInt8], to recipient: PublicKey, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        for segment in segmenter.segment(data) {
            payloads.append(try RFC26.sealAsymmetric(segment, to: recipient, signer: signer, using: &random))
        }
        return payloads
    }

    /// Encrypts for whoever knows the topic's name. Derives the topic's key, which takes about 13 ms.
    func encrypt(
        _ data: [UInt8], for topic: TopicName, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) -> [[UInt8]] {
        let key = topic.deriveSymmetricKey()
        var payloads: [[UInt8]] = []
        for segment in segmenter.segment(data) {
            payloads.append(try RFC26.sealSymmetric(segment, key: key, signer: signer, using: &random))
        }
        return payloads
    }
}
