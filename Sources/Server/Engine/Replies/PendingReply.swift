import Bytes
import Envelope
import StatusCrypto
import Store
import Wire

/// A reply that is decided and not yet published.
struct PendingReply: HoldsSecret, Sendable, Identifiable {
    /// The request's row.
    var id: Int64
    var type: MessageType
    var payload: [UInt8]
    /// The second response to a query whose answer takes two, which is published with the first.
    var secondPayload: [UInt8]?
    var recipient: PublicKey
    /// The request's pubsub topic (PROTOCOL.md §2).
    var pubsubTopic: String
    /// A push request's Status message id, by which a repeated request finds this reply, or nil for other replies.
    var statusMessageID: Digest32?
    /// A registration response's installation, or nil if the registration names none.
    var installationID: String?
    var completion: Completion
    /// The time at which the request arrived.
    var receivedAt: Timestamp
    /// The rows of the request's other segments, which are marked together with it.
    var segments: [Int64] = []

    /// The change in the journal after the reply's publication.
    enum Completion: Sendable {
        /// The stored reply gets its publication mark.
        case reply
        /// The stored reply gets its publication mark, and its content is erased. Its request did not lead to any successful push, so a
        /// repeated request is decided again (PROTOCOL.md §9).
        case erasedReply
        /// The message gets its decision. Its reply is not stored: a query's (PROTOCOL.md §8), or an INTERNAL_ERROR after failed writes.
        case decision
    }

    init(id: Int64, type: MessageType, payload: [UInt8], origin: OpenedEnvelope.Origin, completion: Completion = .reply) {
        self.id = id
        self.type = type
        self.payload = payload
        recipient = origin.sender
        pubsubTopic = origin.pubsubTopic
        self.completion = completion
        receivedAt = origin.receivedAt
    }

    /// Creates a reply that an earlier run stored.
    ///
    /// - Returns: nil if the stored recipient is not a key, which the server never writes.
    init?(id: Int64, receivedAt: Timestamp, stored: Reply) {
        guard let recipient = try? PublicKey(compressed: stored.recipient) else { return nil }
        self.id = id
        self.receivedAt = receivedAt
        type = stored.type
        payload = stored.payload
        self.recipient = recipient
        pubsubTopic = stored.pubsubTopic
        statusMessageID = stored.statusMessageID
        let response = type == .pushNotificationResponse ? try? PushNotificationResponse.decode(payload) : nil
        completion = response.map(Completion.init) ?? .reply
    }

    /// The length of all that is published.
    var byteCount: Int { payload.count + (secondPayload?.count ?? 0) }

    /// The reply as the store keeps it.
    var stored: Reply {
        Reply(
            type: type, payload: payload, recipient: recipient.compressed, pubsubTopic: pubsubTopic, statusMessageID: statusMessageID,
            installationID: installationID)
    }
}

extension PendingReply.Completion {
    /// Creates the completion for a response to a push request.
    init(_ response: PushNotificationResponse) {
        self = response.reports.contains(where: \.success) ? .reply : .erasedReply
    }
}

/// Makes a reply's envelopes: signed as a message, signed again as an RFC 26 frame, encrypted to the sender's key, on the sender's
/// partitioned topic (PROTOCOL.md §3 and §5.4).
struct ReplySealer: Sendable {
    let identity: PrivateKey
    private let segmenter = Segmenter()

    init(identity: PrivateKey) {
        self.identity = identity
    }

    /// Returns new envelopes for a reply. A long reply needs several, because it is cut into segments. The bytes differ in each call.
    ///
    /// - Throws: The encryption's error.
    func seal(
        _ reply: PendingReply, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) throws -> [WakuEnvelope] {
        let contentTopic = TopicName.partitionedTopic(of: reply.recipient).contentTopic
        var envelopes: [WakuEnvelope] = []
        let messages = [reply.payload, reply.secondPayload].compactMap { $0 }
            .map { ApplicationMetadata.seal($0, type: reply.type, signer: identity) }
        for piece in messages.flatMap(segmenter.segment) {
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
