package import Envelope
import GRDB
package import StatusCrypto
import Wire

extension StoreTransaction {
    /// Writes messages down before anything acts on them.
    ///
    /// - Returns: for each the number of its row; nil when the hash is known.
    func record(_ messages: [RecordableMessage], at now: Timestamp) throws -> [Int64?] {
        let rows = try messages.map { message -> Int64? in
            let isNew = try database.run(Self.insertMessage, now, message.sentAt, message.hash, message.pubsubTopic, message.envelope) == 1
            return isNew ? database.lastInsertedRowID : nil
        }
        let new = rows.compactMap(\.self)
        for range in RowRanges(new) {
            try database.run(
                "INSERT INTO unfinished_message (message) SELECT id FROM message WHERE id BETWEEN ? AND ?", range.lowerBound, range.upperBound)
        }
        count(.received, by: messages.count)
        count(.duplicate, by: messages.count - new.count)
        return rows
    }

    /// Stores the decision about a recorded message and lets go of its envelope.
    ///
    /// - Throws: `alreadyDecided` unless the message still waits for its decision; if that leaves the body of
    ///   ``PushStore/commit(_:)``, all that came with the second decision is undone.
    package func settle(_ message: Int64, as settlement: Settlement, at now: Timestamp) throws {
        switch settlement {
        case .ignored(let reason): try close([message], as: .ignored, reason: reason, at: now)
        case .silent: try close([message], as: .silent, at: now)
        case .answered(let reply): try answer(message, with: reply, at: now)
        }
        count(settlement.milestone)
    }

    /// Settles messages as silent: one statement for all whose rows stand side by side.
    ///
    /// - Throws: `alreadyDecided`, as ``settle(_:as:at:)``.
    package func settleSilently(_ messages: [Int64], at now: Timestamp) throws {
        try close(messages, as: .silent, at: now)
        count(Settlement.silent.milestone, by: messages.count)
    }

    /// Notes that the replies are out. Twice does no harm; nor does it to a message that still waits for its decision, and goes on waiting.
    package func markReplied(_ messages: [Int64]) throws {
        for range in RowRanges(messages) { try database.run(Self.finishMessages, range.lowerBound, range.upperBound) }
    }

    /// The payload of the newest reply to a push request with that Status message id (PROTOCOL.md §9, "the same request again").
    package func earlierResponse(to statusMessageID: Digest32) throws -> [UInt8]? {
        try database.first(
            """
            SELECT reply FROM message WHERE status_prefix = ? AND status_message_id = ? AND reply_type = ?
            ORDER BY id DESC LIMIT 1
            """,
            statusMessageID.prefix, statusMessageID, Int64(MessageType.pushNotificationResponse.rawValue)
        ) { $0.bytes(0) }
    }

    private func answer(_ message: Int64, with reply: Reply, at now: Timestamp) throws {
        let changedCount = try database.run(
            Self.answerMessage, now, reply.pubsubTopic, Int64(reply.type.rawValue), reply.payload, reply.recipient,
            reply.statusMessageID?.prefix, reply.statusMessageID, message)
        guard changedCount == 1 else { throw StoreError.alreadyDecided }
    }

    private func close(_ messages: [Int64], as state: MessageState, reason: IgnoreReason? = nil, at now: Timestamp) throws {
        for range in RowRanges(messages) {
            let changedCount = try database.run(
                Self.closeMessages, state.rawValue, now, reason?.rawValue, range.lowerBound, range.upperBound)
            guard changedCount == range.count else { throw StoreError.alreadyDecided }
        }
        try markReplied(messages)
    }

    // Made once: putting a text together for each call costs as much as a small statement.

    private static let insertMessage = """
        INSERT INTO message (state, received_at, sent_at, hash, pubsub_topic, envelope)
        VALUES (\(MessageState.recorded.rawValue), ?, ?, ?, ?, ?) ON CONFLICT (sent_at, hash) DO NOTHING
        """
    private static let answerMessage = """
        UPDATE message SET
            state = \(MessageState.answered.rawValue), decided_at = ?, envelope = NULL, pubsub_topic = ?,
            reply_type = ?, reply = ?, recipient = ?, status_prefix = ?, status_message_id = ?
        WHERE id = ? AND state = \(MessageState.recorded.rawValue)
        """
    private static let finishMessages = """
        DELETE FROM unfinished_message WHERE message BETWEEN ? AND ?
            AND (SELECT state FROM message WHERE id = unfinished_message.message) <> \(MessageState.recorded.rawValue)
        """
    private static let closeMessages = """
        UPDATE message SET state = ?, decided_at = ?, ignore_reason = ?, envelope = NULL, pubsub_topic = NULL
        WHERE id BETWEEN ? AND ? AND state = \(MessageState.recorded.rawValue)
        """
}

/// A message as it goes into the journal.
struct RecordableMessage: Sendable {
    /// Of the envelope; covers all that is below.
    var hash: Digest32
    var sentAt: Timestamp
    var pubsubTopic: String
    /// The WakuMessage, protobuf.
    var envelope: [UInt8]

    init(_ envelope: WakuEnvelope, hash: Digest32) {
        self.hash = hash
        sentAt = Timestamp(nanoseconds: envelope.message.timestamp ?? 0)
        pubsubTopic = envelope.pubsubTopic
        self.envelope = envelope.message.encoded()
    }
}
