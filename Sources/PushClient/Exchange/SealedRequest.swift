package import Envelope
package import StatusCrypto

/// A sealed request and how to tell its answers.
///
/// Made once, before anything is sent: a value that knows neither node nor time.
package protocol SealedRequest: Sendable {
    associatedtype Answer: Sendable

    /// Who asks: the answer is encrypted to this key, on its partitioned topic (PROTOCOL.md §5.4).
    var asker: PrivateKey { get }
    /// Where the request goes.
    var topic: TopicName { get }
    /// The RFC 26 payloads of the request: one, or one for each segment of a long request.
    var payloads: [[UInt8]] { get }

    /// Anybody can write on the topic, and one in 5,000 others is addressed there too: what does not fit is passed over.
    ///
    /// - Parameter message: encrypted to the asker, in a signed frame. Who sent it, and what it is, is for the question to look at.
    /// - Returns: nil if it answers another request, is of somebody who was not asked, or is no answer at all.
    func answer(in message: OpenedMessage) -> Answer?
}
