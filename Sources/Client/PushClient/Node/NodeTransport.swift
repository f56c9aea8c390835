/// A node as clients use it. An app that embeds a node implements these three functions. `PushClientREST` implements them for a node behind
/// its REST API.
///
/// Each function may throw any error. ``PushClientError/nodeRejected(status:text:)`` with a status of 500 or more makes the client publish
/// again. Each function ends with `CancellationError` when its task is cancelled.
public protocol NodeTransport: Sendable {
    /// The messages that arrive on a subscription. The sequence ends when its task is cancelled. If it ends otherwise, the client
    /// subscribes again.
    associatedtype Messages: AsyncSequence & Sendable where Messages.Element == NodeMessage

    /// Publishes a message unchanged. Returns when the node has accepted it, which does not mean that anyone has received it.
    func publish(_ message: NodeMessage) async throws

    /// Subscribes to messages with these content topics. Returns when the node receives them, because the client publishes a request next,
    /// whose reply takes milliseconds. The sequence may repeat messages, and may contain others.
    func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> Messages

    /// Returns the messages that the node or a store in its network has kept. The result may contain others. A node without any store
    /// returns an empty list: the client then misses advertisements and replies from before its subscriptions.
    ///
    /// - Parameter start: The time of the oldest message to return, in nanoseconds since 1970, by this device's clock.
    func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage]

    /// By how much this device's clock is ahead of the node's, negative if it is behind, or nil if the transport does not know, which is
    /// the default. Errors about missing replies name a large difference.
    var clockLead: Duration? { get }
}

extension NodeTransport {
    /// Nil: unknown.
    public var clockLead: Duration? { nil }
}
