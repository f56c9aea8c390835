import Envelope
import StatusCrypto
import Wire

/// Signs a message, cuts it into segments if it is long, and encrypts each segment (PROTOCOL.md §3 and §5).
struct Sealing {
    /// A segmenter for the node's maximum message length.
    let segmenter: Segmenter
    /// The key that signs the message and its frames.
    let signer: PrivateKey

    /// Returns the signed message. Its bytes determine its id, by which the reply is recognised.
    func sign(_ payload: [UInt8], type: MessageType) -> [UInt8] {
        ApplicationMetadata.seal(payload, type: type, signer: signer)
    }

    /// Encrypts to a public key.
    func encrypt(
        _ data: [UInt8], to recipient: StatusCrypto.PublicKey, using random: inout some RandomNumberGenerator
    ) throws(RFC26.DataTooLong) -> [[UInt8]] {
        var payloads: [[UInt8]] = []
        for segment in segmenter.segment(data) {
            payloads.append(try RFC26.sealAsymmetric(segment, to: recipient, signer: signer, using: &random))
        }
        return payloads
    }

    /// Encrypts with a topic's key, derived from its name in about 18 ms.
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
