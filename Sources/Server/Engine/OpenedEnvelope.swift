import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Transport
import Wire

/// An envelope in the journal.
struct RecordedMessage: Sendable, Identifiable {
    /// The row in the journal.
    var id: Int64
    var receivedAt: Timestamp
    var envelope: WakuEnvelope
    /// Its topic's owners when the message arrived.
    var addressees: TopicDirectory.TopicCandidates
    /// Whether the message arrived live or was backfilled. The journal does not store it.
    var origin = EnvelopeOrigin.live
    /// Whether the message was re-read from the journal.
    var isReadAgain = false
}

extension RecordedMessage {
    /// The time from which the message ages. If it has waited in the journal, it ages from its arrival. Otherwise a backfilled message ages
    /// from the sender's time, and a live message, or a message without a time, does not age (nil).
    var agesSince: Timestamp? {
        guard !isReadAgain else { return receivedAt }
        guard origin == .backfilled, let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return nil }
        return Timestamp(nanoseconds: nanoseconds)
    }
}

/// An envelope's content after all cryptographic checks, with their results.
struct OpenedEnvelope: Sendable {
    enum Body: Sendable {
        case registration(Registration)
        /// The queried keys' hashes.
        case query([Digest64])
        case push(PushNotificationRequest)
    }

    enum Content: Sendable {
        case message(Body, from: Origin)
        /// A message without a reply.
        case dropped(IgnoreReason)
    }

    struct Registration: Sendable {
        var facts: RegistrationInput
        /// shake256 over the encrypted payload.
        var requestID: Digest64
        /// shake256 over the sender's compressed key.
        var keyHash: Digest64
        var topics: QueryTopics
        /// How long the encrypted payload is.
        var byteCount = 0
    }

    /// A message's sender, who receives the reply, and the message's id and pubsub topic.
    struct Origin: Sendable {
        var sender: PublicKey
        /// Status message id.
        var messageID: Digest32
        var pubsubTopic: String
        /// When the message, or its last segment, arrived.
        var receivedAt: Timestamp
    }

    var id: Int64
    /// The rows of its other segments, which share its decision.
    var segments: [Int64] = []
    /// The time from which the message ages, or nil if it does not age, like a live message.
    var agesSince: Timestamp?
    var content: Content

    /// Whether the message is invalid: no key opens it, or its content cannot be decoded.
    var isJunk: Bool { if case .dropped(.invalid) = content { true } else { false } }

    static func dropped(_ id: Int64, _ reason: IgnoreReason = .invalid) -> OpenedEnvelope {
        OpenedEnvelope(id: id, content: .dropped(reason))
    }
}
