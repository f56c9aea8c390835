import Envelope
import StatusCrypto
import Store
import Wire

/// A reply that is decided and not yet published.
struct PendingReply: HoldsSecret, Sendable, Identifiable {
    /// Row of the message it answers.
    var id: Int64
    var type: MessageType
    var payload: [UInt8]
    var recipient: PublicKey
    /// The pubsub topic of the request (PROTOCOL.md §2).
    var pubsubTopic: String
    /// Set for push requests: a repeated request finds this reply.
    var statusMessageID: Digest32?
    /// The installation of a registration response; nil if the registration names none.
    var installationID: String?
    var completion: Completion
    /// Rows that are marked with it.
    var segments: [Int64] = []

    /// What the journal records once the reply is published.
    enum Completion: Sendable {
        /// The stored reply is published.
        case reply
        /// The stored reply is published, and nothing of it is kept: no push of its request succeeded, so the same request is decided
        /// again (PROTOCOL.md §9).
        case erasedReply
        /// The message is decided. Its reply was never stored: a query's (PROTOCOL.md §8), or an INTERNAL_ERROR after a failed write.
        case decision
    }

    init(id: Int64, type: MessageType, payload: [UInt8], origin: OpenedEnvelope.Origin, completion: Completion = .reply) {
        self.id = id
        self.type = type
        self.payload = payload
        recipient = origin.sender
        pubsubTopic = origin.pubsubTopic
        self.completion = completion
    }

    /// Creates a reply that an earlier run stored.
    ///
    /// - Returns: nil if the stored recipient is not a key, which the server never writes.
    init?(id: Int64, stored: Reply) {
        guard let recipient = try? PublicKey(compressed: stored.recipient) else { return nil }
        self.id = id
        type = stored.type
        payload = stored.payload
        self.recipient = recipient
        pubsubTopic = stored.pubsubTopic
        statusMessageID = stored.statusMessageID
        let response = type == .pushNotificationResponse ? try? PushNotificationResponse.decode(payload) : nil
        completion = response.map(Completion.init) ?? .reply
    }

    var stored: Reply {
        Reply(
            type: type, payload: payload, recipient: recipient.compressed, pubsubTopic: pubsubTopic, statusMessageID: statusMessageID,
            installationID: installationID)
    }
}

extension PendingReply.Completion {
    /// The mark of the response to a push request.
    init(_ response: PushNotificationResponse) {
        self = response.reports.contains(where: \.success) ? .reply : .erasedReply
    }
}

/// Makes the envelopes of a reply: signed as a message, signed again as an RFC 26 frame, encrypted to the sender's key, on the sender's
/// partitioned topic (PROTOCOL.md §3 and §5.4).
struct ReplySealer: Sendable {
    let identity: PrivateKey
    private let segmenter = Segmenter()

    init(identity: PrivateKey) {
        self.identity = identity
    }

    /// Fresh envelopes: another call gives other bytes for the same reply. One, or as many as a long reply has segments.
    func seal(
        _ reply: PendingReply, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) throws -> [WakuEnvelope] {
        let metadata = ApplicationMetadata.seal(reply.payload, type: reply.type, signer: identity)
        let contentTopic = TopicName.partitionedTopic(of: reply.recipient).contentTopic
        var envelopes: [WakuEnvelope] = []
        for piece in segmenter.segment(metadata) {
            var message = WakuMessage()
            message.payload = try RFC26.sealAsymmetric(piece, to: reply.recipient, signer: identity, using: &random)
            message.contentTopic = contentTopic
            message.version = RFC26.messageVersion
            message.timestamp = now.nanoseconds
            envelopes.append(WakuEnvelope(pubsubTopic: reply.pubsubTopic, message: message))
        }
        return envelopes
    }
}
