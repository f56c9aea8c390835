package import Bytes
import StatusCrypto
package import Wire

/// A Waku message with its pubsub topic: the unit that transports carry.
package struct WakuEnvelope: Sendable, Equatable {
    package var pubsubTopic: String
    package var message: WakuMessage

    package init(pubsubTopic: String, message: WakuMessage) {
        self.pubsubTopic = pubsubTopic
        self.message = message
    }

    /// The deterministic message hash of 14/WAKU2-MESSAGE, which identifies a message (PROTOCOL.md §4): sha256(pubsubTopic ‖ payload ‖
    /// contentTopic ‖ meta ‖ timestamp), with 0 for a missing timestamp.
    package var hash: Digest32 {
        var hash = SHA256()
        hash.update(pubsubTopic.utf8Span.span)
        hash.update(message.payload.span)
        hash.update(message.contentTopic.utf8Span.span)
        hash.update(message.meta.span)
        let timestamp = UInt64(bitPattern: message.timestamp ?? 0)
        hash.update([UInt8]((0..<8).map { UInt8(truncatingIfNeeded: timestamp >> (56 - 8 * $0)) }).span)
        return hash.finalize()
    }

    /// Whether the message has a version whose payload the server and its clients read.
    package var isReadable: Bool { RFC26.isReadable(version: message.version) }
}
