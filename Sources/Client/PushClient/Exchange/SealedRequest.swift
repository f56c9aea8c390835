package import Envelope
package import StatusCrypto

/// A sealed request, which recognises its replies.
///
/// A value without node or clock, created once before anything is sent.
package protocol SealedRequest: Sendable {
    associatedtype Answer: Sendable

    /// The client's private key. Replies are encrypted to it and arrive on its partitioned topic (PROTOCOL.md §5.4).
    var requester: PrivateKey { get }
    /// The request's topic.
    var topic: TopicName { get }
    /// The request's RFC 26 payloads, several if it was cut into segments.
    var payloads: [[UInt8]] { get }

    /// Returns the reply in a message. Anyone can write to the topic, and every 5,000th key shares it on average, so other messages are
    /// ignored.
    ///
    /// - Parameter message: A message encrypted to the client, in a signed frame. The implementation checks sender and type.
    /// - Returns: The reply, or nil if the message replies to another request, comes from another sender, or is not a reply.
    func answer(in message: OpenedMessage) -> Answer?
}
