import Envelope
import StatusCrypto
import Store
import Wire

/// A reply that is decided and not yet published.
struct PendingReply: Sendable, Identifiable {
    /// Row of the message it answers.
    var id: Int64
    var type: MessageType
    var payload: [UInt8]
    var recipient: PublicKey
    /// The reply goes out where its request came in (PROTOCOL.md §2).
    var pubsubTopic: String
    /// Set for push requests: a repeated request finds this reply.
    var statusMessageID: Digest32?
    /// The installation that is told about its registration; nil where nobody can tell which.
    var installationID: String?
    var mark: Mark
    /// Rows that are marked with it.
    var segments: [Int64] = []

    /// What is written down when the reply is out.
    enum Mark: Sendable {
        /// The stored answer has been sent.
        case replied
        /// Nothing of the answer is kept, and only now its message counts as decided: a query's (PROTOCOL.md §8), and an INTERNAL_ERROR,
        /// which stands for what could not be written.
        case decided
    }

    init(id: Int64, type: MessageType, payload: [UInt8], origin: OpenedEnvelope.Origin, mark: Mark = .replied) {
        self.id = id
        self.type = type
        self.payload = payload
        recipient = origin.sender
        pubsubTopic = origin.pubsubTopic
        self.mark = mark
    }

    /// - Returns: nil when the stored key is none, which no reply of ours has.
    init?(id: Int64, stored: Reply) {
        guard let recipient = try? PublicKey(compressed: stored.recipient) else { return nil }
        self.id = id
        type = stored.type
        payload = stored.payload
        self.recipient = recipient
        pubsubTopic = stored.pubsubTopic
        statusMessageID = stored.statusMessageID
        mark = .replied
    }

    var stored: Reply {
        Reply(
            type: type, payload: payload, recipient: recipient.compressed, pubsubTopic: pubsubTopic, statusMessageID: statusMessageID,
            installationID: installationID)
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
