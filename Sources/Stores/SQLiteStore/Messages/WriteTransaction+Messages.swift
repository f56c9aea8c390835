import Bytes
import Envelope
import GRDB
import StatusCrypto
import Store
import Wire

extension WriteTransaction {
    /// Records messages before anything acts on them.
    ///
    /// - Returns: Each message's row, or nil if its hash is already recorded.
    func record(_ messages: [RecordableMessage], at now: Timestamp) throws -> [Int64?] {
        let rows = try messages.map { message -> Int64? in
            let isNew = try database.run(Self.insertMessage, now, message.sentAt, message.hash, message.pubsubTopic, message.envelope) == 1
            return isNew ? database.lastInsertedRowID : nil
        }
        let new = rows.compactMap(\.self)
        for range in RowRanges(new) {
            try database.run(
                "INSERT INTO unfinished_message (message) SELECT id FROM message WHERE id BETWEEN ? AND ?", range.lowerBound,
                range.upperBound)
        }
        count(.received, by: messages.count)
        count(.duplicate, by: messages.count - new.count)
        return rows
    }

    /// Stores the decisions about recorded messages and deletes their envelopes.
    ///
    /// - Throws: `alreadyDecided` if a message already has a decision.
    func decide(_ decisions: [(message: Int64, decision: MessageDecision)], at now: Timestamp) throws {
        var closed: [ClosedState: [Int64]] = [:]
        for (message, decision) in decisions {
            switch decision {
            case .ignored(let reason): closed[ClosedState(state: .ignored, reason: reason), default: []].append(message)
            case .silent: closed[ClosedState(state: .silent), default: []].append(message)
            case .answered(let reply): try answer(message, with: reply, at: now)
            }
            count(decision.milestone)
        }
        for (state, messages) in closed { try close(messages, as: state, at: now) }
    }

    /// Marks older, unpublished responses to registrations of the same installation as superseded.
    ///
    /// - Returns: The messages of the superseded responses.
    func supersede(_ reply: Reply, answering message: Int64) throws -> [Int64] {
        try database.all(
            Self.supersedeReplies, reply.recipient.prefix, message, reply.installationPrefix, reply.recipient
        ) { try $0.next() }
    }

    /// Marks replies as published.
    func markPublished(_ messages: [Int64]) throws {
        for range in RowRanges(messages) { try database.run(Self.finishMessages, range.lowerBound, range.upperBound) }
    }

    /// Marks replies as published and erases their content.
    func eraseReplies(_ messages: [Int64]) throws {
        for range in RowRanges(messages) { try database.run(Self.eraseReplies, range.lowerBound, range.upperBound) }
        try markPublished(messages)
    }

    private func answer(_ message: Int64, with reply: Reply, at now: Timestamp) throws {
        let sealed = try sealing.seal([reply.payload], in: .reply(to: reply.recipient, message: message))
        let changedCount = try database.run(
            Self.answerMessage, now, reply.pubsubTopic, reply.type, sealed, reply.recipient,
            reply.statusMessageID?.prefix, reply.statusMessageID, message)
        guard changedCount == 1 else { throw StoreError.alreadyDecided }
        if reply.type == .pushNotificationRegistrationResponse {
            try database.run(Self.nameRecipient, reply.recipient.prefix, reply.installationPrefix, message)
        }
    }

    private struct ClosedState: Hashable {
        var state: MessageState
        var reason: IgnoreReason?
    }

    /// Closes messages with a single statement per range of rows.
    private func close(_ messages: [Int64], as closed: ClosedState, at now: Timestamp) throws {
        for range in RowRanges(messages) {
            let changedCount = try database.run(
                Self.closeMessages, closed.state, now, closed.reason, range.lowerBound, range.upperBound)
            guard changedCount == range.count else { throw StoreError.alreadyDecided }
        }
        try markPublished(messages)
    }

    // The statements are constants, because assembling a text for each call takes as long as executing a small statement.

    private static let insertMessage = """
        INSERT INTO message (state, received_at, sent_at, hash, pubsub_topic, envelope)
        VALUES (\(MessageState.recorded.rawValue), ?, ?, ?, ?, ?) ON CONFLICT (sent_at, hash) DO NOTHING
        """
    private static let answerMessage = """
        UPDATE message SET
            state = \(MessageState.answered.rawValue), decided_at = ?, envelope = NULL, pubsub_topic = ?,
            reply_type = ?, sealed_reply = ?, recipient = ?, status_prefix = ?, status_message_id = ?
        WHERE id = ? AND state = \(MessageState.recorded.rawValue)
        """
    private static let nameRecipient = """
        UPDATE unfinished_message SET recipient_prefix = ?, installation_prefix = ? WHERE message = ?
        """
    private static let supersedeReplies = """
        DELETE FROM unfinished_message WHERE recipient_prefix = ?1 AND message < ?2
            AND (installation_prefix IS NULL OR ?3 IS NULL OR installation_prefix = ?3)
            AND (SELECT recipient FROM message WHERE id = unfinished_message.message) = ?4
        RETURNING message
        """
    private static let finishMessages = """
        DELETE FROM unfinished_message WHERE message BETWEEN ? AND ?
            AND (SELECT state FROM message WHERE id = unfinished_message.message) <> \(MessageState.recorded.rawValue)
        """
    private static let eraseReplies = """
        UPDATE message SET
            pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_prefix = NULL, status_message_id = NULL
        WHERE id BETWEEN ? AND ? AND state = \(MessageState.answered.rawValue)
        """
    private static let closeMessages = """
        UPDATE message SET state = ?, decided_at = ?, ignore_reason = ?, envelope = NULL, pubsub_topic = NULL
        WHERE id BETWEEN ? AND ? AND state = \(MessageState.recorded.rawValue)
        """
}

extension Database {
    /// Returns the payload of the newest reply to a push request with that Status message id (PROTOCOL.md §9, "Repeated request").
    func response(to statusMessageID: Digest32, _ sealing: RowSealing) throws -> [UInt8]? {
        try first(
            """
            SELECT id, recipient, sealed_reply FROM message WHERE status_prefix = ? AND status_message_id = ? AND reply_type = ?
            ORDER BY id DESC LIMIT 1
            """,
            statusMessageID.prefix, statusMessageID, MessageType.pushNotificationResponse
        ) { try $0.nextPayload(sealing) } ?? nil
    }
}
