package import Bytes
package import Envelope
import StatusCrypto
import Wire

/// A message as the journal stores it.
package struct RecordableMessage: Sendable {
    /// The message hash, which covers all other properties.
    package var hash: Digest32
    package var sentAt: Timestamp
    package var pubsubTopic: String
    /// The encoded WakuMessage.
    package var envelope: [UInt8]

    package init(_ envelope: WakuEnvelope, hash: Digest32) {
        self.hash = hash
        sentAt = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
        pubsubTopic = envelope.pubsubTopic
        self.envelope = envelope.message.encoded()
    }
}
