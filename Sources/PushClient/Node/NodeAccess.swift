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

    /// The node's REST API, `http://host:port`.
    public var url: String
    /// The shard on which the server listens.
    public var pubsubTopic: String
    /// Where answers are looked for.
    public var reception: Reception

    /// Describes a node.
    public init(url: String, pubsubTopic: String = defaultPubsubTopic, reception: Reception = .store) {
        self.url = url
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }
}
