/// The node that carries the messages, and how to receive from it.
public struct NodeAccess: Hashable, Sendable {
    /// The place where the node keeps messages for a client.
    public enum Reception: Hashable, Sendable {
        /// The node's store, which other clients may read too.
        case store
        /// The node's relay cache, which reading empties: only for a node without other clients.
        case relayCache
    }

    /// The shard of Status clients and push servers.
    public static let defaultPubsubTopic = "/waku/2/rs/16/32"
    /// The maximum message size of Status' nodes: 1 MiB (WAKU_REST.md §2.2).
    public static let defaultMaximumMessageByteCount = 1 << 20

    /// The node's REST API, `http://host:port`.
    public var url: String
    /// The shard of the server.
    public var pubsubTopic: String
    /// The place where replies are read.
    public var reception: Reception
    /// The maximum message size of the node in bytes, at least 4. Messages longer than three quarters of it are sent in segments.
    public var maximumMessageByteCount = defaultMaximumMessageByteCount

    /// Describes a node.
    public init(url: String, pubsubTopic: String = defaultPubsubTopic, reception: Reception = .store) {
        self.url = url
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }
}
