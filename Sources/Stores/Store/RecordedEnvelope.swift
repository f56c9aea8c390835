import Bytes
package import Envelope
import StatusCrypto

/// A recorded message.
package struct RecordedEnvelope: Sendable, Equatable {
    /// The message's row.
    package var id: Int64
    package var receivedAt: Timestamp
    package var envelope: WakuEnvelope

    package init(id: Int64, receivedAt: Timestamp, envelope: WakuEnvelope) {
        self.id = id
        self.receivedAt = receivedAt
        self.envelope = envelope
    }
}
