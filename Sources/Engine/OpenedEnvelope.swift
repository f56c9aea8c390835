import Envelope
import PushProtocol
import StatusCrypto
import Store
import Transport
import Wire

/// An envelope in the journal.
struct RecordedMessage: Sendable, Identifiable {
    /// Row in the store.
    var id: Int64
    var receivedAt: Timestamp
    var envelope: WakuEnvelope
    /// The owners of its topic when the message arrived.
    var addressees: TopicDirectory.Addressees
    /// After a crash nobody knows any more: then it counts as live, which loses nothing.
    var origin = EnvelopeOrigin.live
    /// From the journal, where it waited.
    var isReadAgain = false
}

extension RecordedMessage {
    /// The sender's time of a backfilled message; nil for a live message, or one without a time.
    var backfilledSentAt: Timestamp? {
        guard origin == .backfilled, let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return nil }
        return Timestamp(nanoseconds: nanoseconds)
    }
}

/// The content of an envelope, with the results of all cryptographic checks.
struct OpenedEnvelope: Sendable {
    enum Body: Sendable {
        case registration(Registration)
        /// Hashes of the keys that are asked for.
        case query([Digest64])
        case push(PushNotificationRequest)
    }

    enum Content: Sendable {
        case message(Body, from: Origin)
        /// The message gets no reply.
        case dropped(IgnoreReason)
    }

    struct Registration: Sendable {
        var facts: RegistrationInput
        /// shake256 of the encrypted payload.
        var requestID: Digest64
        /// shake256 of the sender's compressed key.
        var keyHash: Digest64
        var topics: QueryTopics
        /// The bytes of the encrypted payload.
        var byteCount = 0
    }

    /// The recipient of the reply, and the id of the message.
    struct Origin: Sendable {
        var sender: PublicKey
        /// Status message id.
        var messageID: Digest32
        var pubsubTopic: String
    }

    var id: Int64
    /// The rows of the other segments that it was put together from: what happens to the message happens to them.
    var segments: [Int64] = []
    /// When its sender says that it was sent; nil for a message that arrived live, which is not old whatever it says.
    var backfilledSentAt: Timestamp?
    var content: Content

    /// Whether nothing can be made of it.
    var isJunk: Bool { if case .dropped(.invalid) = content { true } else { false } }

    static func dropped(_ id: Int64, _ reason: IgnoreReason = .invalid) -> OpenedEnvelope {
        OpenedEnvelope(id: id, content: .dropped(reason))
    }
}
