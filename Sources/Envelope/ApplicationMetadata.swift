package import StatusCrypto
package import Wire

/// A message inside its frame, as its sender signed it.
package struct OpenedMessage: Sendable, Equatable {
    /// Recovered from the inner signature: the only sender that counts.
    package let sender: PublicKey
    package let type: MessageType
    /// The message of that type, encoded.
    package let payload: [UInt8]
    /// The Status message id: keccak256(65-byte sender key ‖ the bytes as received).
    package let messageID: Digest32
}

/// `ApplicationMetadataMessage`: signs a payload and says of what type it is (PROTOCOL.md §5).
package enum ApplicationMetadata {
    /// Why a message is dropped.
    package enum OpenError: Error, Equatable {
        case malformed(WireError)
        /// The signature is missing, or no key could be recovered from it.
        case unsigned
    }

    /// Reads a message and recovers its sender.
    ///
    /// - Parameter data: what a frame held, or what its segments were put together to.
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

    /// Signs and writes a message.
    ///
    /// - Returns: the message's bytes; always the same for the same arguments.
    package static func seal(_ payload: [UInt8], type: MessageType, signer: PrivateKey) -> [UInt8] {
        var message = ApplicationMetadataMessage()
        message.signature = signer.sign(Keccak.keccak256(payload)).bytes.bytes
        message.payload = payload
        message.type = type
        return message.encoded()
    }
}
