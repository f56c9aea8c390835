/// Which node carries the messages, and how to get at them.
public struct NodeAccess: Hashable, Sendable {
    /// Where a client finds what was sent to it.
    public enum Reception: Hashable, Sendable {
        /// In the node's store, which it shares with others.
        case store
        /// In the node's relay cache, which is emptied by reading: only for a node that serves nobody else.
        case relayCache
    }

    /// The shard on which Status clients and push servers meet.
    public static let defaultPubsubTopic = "/waku/2/rs/16/32"
    /// What the nodes of Status take in one message: 1 MiB (WAKU_REST.md §2.2).
    public static let defaultMaximumMessageByteCount = 1 << 20

    /// The node's REST API, `http://host:port`.
    public var url: String
    /// The shard on which the server listens.
    public var pubsubTopic: String
    /// Where answers are looked for.
    public var reception: Reception
    /// What the node takes in one message, at least 4. What is longer than three quarters of it goes out in segments.
    public var maximumMessageByteCount = defaultMaximumMessageByteCount

    /// Describes a node.
    public init(url: String, pubsubTopic: String = defaultPubsubTopic, reception: Reception = .store) {
        self.url = url
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }
}
