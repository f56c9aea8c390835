package import Envelope
import GRDB
package import StatusCrypto
import Wire

extension StoreTransaction {
    /// Writes a message down before anything acts on it.
    ///
    /// - Returns: the number of its row; nil when the hash is known.
    func record(hash: Digest32, pubsubTopic: String, envelope: [UInt8], at now: Timestamp) throws -> Int64? {
        let isKnown = try database.first("SELECT 1 FROM message WHERE hash_prefix = ? AND hash = ?", hash.prefix, hash) { _ in true }
        count(.received)
        guard isKnown == nil else {
            count(.duplicate)
            return nil
        }
        try database.run(Self.insertMessage, hash.prefix, now, hash, pubsubTopic, envelope)
        return database.lastInsertedRowID
    }

    /// Stores the decision about a recorded message and lets go of its envelope.
    ///
    /// - Throws: `alreadyDecided` unless the message still waits for its decision; if that leaves the body of
    ///   ``PushStore/commit(_:)``, all that came with the second decision is undone.
    package func settle(_ message: Int64, as settlement: Settlement, at now: Timestamp) throws {
        let changedCount =
            switch settlement {
            case .ignored(let reason): try close(message, as: .ignored, reason: reason, at: now)
            case .silent: try close(message, as: .silent, reason: nil, at: now)
            case .answered(let reply): try answer(message, with: reply, at: now)
            }
        guard changedCount == 1 else { throw StoreError.alreadyDecided }
        count(settlement.milestone)
    }

    /// Notes that the replies are out. Twice does no harm.
    package func markReplied(_ messages: [Int64]) throws {
        for message in messages { try database.run("DELETE FROM reply_due WHERE message = ?", message) }
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

    private func answer(_ message: Int64, with reply: Reply, at now: Timestamp) throws -> Int {
        let changedCount = try database.run(
            Self.answerMessage, now, reply.pubsubTopic, Int64(reply.type.rawValue), reply.payload, reply.recipient,
            reply.statusMessageID?.prefix, reply.statusMessageID, message)
        if changedCount == 1 { try database.run("INSERT INTO reply_due (message) VALUES (?)", message) }
        return changedCount
    }

    private func close(_ message: Int64, as state: MessageState, reason: IgnoreReason?, at now: Timestamp) throws -> Int {
        try database.run(Self.closeMessage, state.rawValue, now, reason?.rawValue, message)
    }

    // Made once: putting a text together for each call costs as much as a small statement.

    private static let insertMessage = """
        INSERT INTO message (hash_prefix, state, received_at, hash, pubsub_topic, envelope)
        VALUES (?, \(MessageState.recorded.rawValue), ?, ?, ?, ?)
        """
    private static let answerMessage = """
        UPDATE message SET
            state = \(MessageState.answered.rawValue), decided_at = ?, envelope = NULL, pubsub_topic = ?,
            reply_type = ?, reply = ?, recipient = ?, status_prefix = ?, status_message_id = ?
        WHERE id = ? AND state = \(MessageState.recorded.rawValue)
        """
    private static let closeMessage = """
        UPDATE message SET state = ?, decided_at = ?, ignore_reason = ?, envelope = NULL, pubsub_topic = NULL
        WHERE id = ? AND state = \(MessageState.recorded.rawValue)
        """
}
