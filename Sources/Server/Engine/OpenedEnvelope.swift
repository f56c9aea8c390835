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
    var addressees: TopicDirectory.Addressees
    /// Whether the message arrived live or was backfilled. The journal does not store it.
    var origin = EnvelopeOrigin.live
    /// Whether the message was re-read from the journal.
    var isReadAgain = false
}

extension RecordedMessage {
    /// The time from which the message ages: its arrival, if it has waited in the journal. Else the sender's time of a backfilled message,
    /// or nil for a live message, or one without a time.
    var agesSince: Timestamp? {
        guard !isReadAgain else { return receivedAt }
        guard origin == .backfilled, let nanoseconds = envelope.message.timestamp, nanoseconds != 0 else { return nil }
        return Timestamp(nanoseconds: nanoseconds)
    }
}

/// An envelope's content, with the results of all cryptographic checks.
struct OpenedEnvelope: Sendable {
    enum Body: Sendable {
        case registration(Registration)
        /// The hashes of the queried keys.
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
        /// shake256 of the encrypted payload.
        var requestID: Digest64
        /// shake256 of the sender's compressed key.
        var keyHash: Digest64
        var topics: QueryTopics
        /// The bytes of the encrypted payload.
        var byteCount = 0
    }

    /// A message's sender, who receives the reply, and the id and pubsub topic of the message.
    struct Origin: Sendable {
        var sender: PublicKey
        /// Status message id.
        var messageID: Digest32
        var pubsubTopic: String
        /// The time at which the message, or the last of its segments, arrived.
        var receivedAt: Timestamp
    }

    var id: Int64
    /// Rows of the message's other segments, which share its decision.
    var segments: [Int64] = []
    /// The time from which the message ages, or nil for a live message, which has no age limit.
    var agesSince: Timestamp?
    var content: Content

    /// Whether the message is invalid: no key opens it, or its content cannot be decoded.
    var isJunk: Bool { if case .dropped(.invalid) = content { true } else { false } }

    static func dropped(_ id: Int64, _ reason: IgnoreReason = .invalid) -> OpenedEnvelope {
        OpenedEnvelope(id: id, content: .dropped(reason))
    }
}
