package import Envelope
package import StatusCrypto
package import Wire

/// A sealed request and how to tell its answer.
///
/// Made once, before anything is sent: a value that knows neither node nor time.
package protocol Question: Sendable {
    associatedtype Answer: Sendable

    /// The type that an answer must have.
    static var answerType: MessageType { get }
    /// Who asks: the answer is encrypted to this key, on its partitioned topic (PROTOCOL.md §5.4).
    var asker: PrivateKey { get }
    /// Where the request goes.
    var topic: TopicName { get }
    /// The RFC 26 payload of the request.
    var payload: [UInt8] { get }

    /// - Parameter payload: of a message of type `answerType` that the server signed.
    /// - Returns: nil if it answers another request, or is no message at all.
    func answer(in payload: [UInt8]) -> Answer?
}

extension Question {
    /// The answer in a message from a node, if it is one: encrypted to the asker and signed by the server.
    ///
    /// Anybody can write on the topic, and one in 5,000 others is addressed there too: what does not fit is passed over.
    package func answer(in envelope: WakuEnvelope, from server: PublicKey) -> Answer? {
        guard envelope.message.version == RFC26.messageVersion,
            let frame = try? RFC26.openAsymmetric(envelope.message.payload, with: asker),
            // Reference clients drop unsigned frames, so an answer in one would be lost in life (PROTOCOL.md §3).
            frame.signature != nil,
            let message = try? ApplicationMetadata.open(frame.data),
            message.sender == server, message.type == Self.answerType
        else { return nil }
        return answer(in: message.payload)
    }
}
