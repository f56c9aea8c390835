package import Bytes
package import StatusCrypto
package import Wire

/// A verified message from a frame.
package struct OpenedMessage: Sendable, Equatable {
    /// The key recovered from the inner signature, which alone identifies the sender.
    package let sender: PublicKey
    package let type: MessageType
    /// The message of that type, encoded.
    package let payload: [UInt8]
    /// The Status message id: keccak256(65-byte sender key ‖ the bytes as received).
    package let messageID: Digest32
}

/// The rules of `ApplicationMetadataMessage`, which signs a payload and states its type (PROTOCOL.md §5).
package enum ApplicationMetadata {
    /// The reason why a message is dropped.
    package enum OpenError: Error, Equatable {
        case malformed(WireError)
        /// The signature is missing, or no key can be recovered from it.
        case unsigned
    }

    /// Reads a message and recovers its sender.
    ///
    /// - Parameter data: A frame's data, or what a set of segments was assembled to.
    package static func open(_ data: [UInt8]) throws(OpenError) -> OpenedMessage {
        let message: ApplicationMetadataMessage
        do {
            message = try ApplicationMetadataMessage.decode(data)
        } catch {
            throw .malformed(error)
        }
        guard let signature = Signature(message.signature), let sender = signature.recover(Keccak.keccak256(message.payload)) else {
            throw .unsigned
        }
        return OpenedMessage(
            sender: sender, type: message.type, payload: message.payload, messageID: messageID(sender: sender, data))
    }

    /// The Status message id: keccak256(65-byte uncompressed sender key ‖ the message's bytes) (PROTOCOL.md §5).
    package static func messageID(sender: PublicKey, _ data: [UInt8]) -> Digest32 {
        Keccak.keccak256(sender.uncompressed.span, data.span)
    }

    /// Signs and encodes a message.
    ///
    /// - Returns: The message's bytes, the same for the same arguments.
    package static func seal(_ payload: [UInt8], type: MessageType, signer: PrivateKey) -> [UInt8] {
        var message = ApplicationMetadataMessage()
        message.signature = signer.sign(Keccak.keccak256(payload)).bytes.bytes
        message.payload = payload
        message.type = type
        return message.encoded()
    }
}
