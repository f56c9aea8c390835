package import Envelope
import Wire

/// A Waku message (14/WAKU2-MESSAGE).
public struct NodeMessage: Hashable, Sendable {
    /// The shard's pubsub topic.
    public var pubsubTopic: String
    /// The content topic, `/waku/1/0x…/rfc26`.
    public var contentTopic: String
    /// The encrypted content.
    public var payload: [UInt8]
    /// The payload's encryption version, 0 or 1, which mean the same in this protocol. Clients send 1. Pass on what the node has, because
    /// clients ignore messages of any other version.
    public var version: UInt32
    /// The time that the sender claims, in nanoseconds since 1970.
    public var timestamp: Int64?
    /// The data that nodes may add, up to 64 bytes.
    public var meta: [UInt8]
    /// Whether stores do not keep the message.
    public var isEphemeral: Bool

    /// Creates a message.
    public init(
        pubsubTopic: String, contentTopic: String, payload: [UInt8], version: UInt32, timestamp: Int64?, meta: [UInt8] = [],
        isEphemeral: Bool = false
    ) {
        self.pubsubTopic = pubsubTopic
        self.contentTopic = contentTopic
        self.payload = payload
        self.version = version
        self.timestamp = timestamp
        self.meta = meta
        self.isEphemeral = isEphemeral
    }
}

extension NodeMessage {
    package init(_ envelope: WakuEnvelope) {
        let message = envelope.message
        self.init(
            pubsubTopic: envelope.pubsubTopic, contentTopic: message.contentTopic, payload: message.payload, version: message.version,
            timestamp: message.timestamp, meta: message.meta, isEphemeral: message.ephemeral)
    }

    package var envelope: WakuEnvelope {
        var message = WakuMessage()
        message.contentTopic = contentTopic
        message.payload = payload
        message.version = version
        message.timestamp = timestamp
        message.meta = meta
        message.ephemeral = isEphemeral
        return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
    }
}
