package import Envelope
import GRDB
package import StatusCrypto
import Wire

extension PushStore {
    /// Writes messages down before anything acts on them: durable when it returns.
    ///
    /// - Returns: for each message the number of its row, which rises; nil where the hash is known or stood earlier in the list.
    package func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?] {
        let messages = envelopes.map { RecordableMessage($0.envelope, hash: $0.hash) }
        return try await commit { try $0.record(messages, at: now) }
    }

    /// Messages that were recorded and not decided, oldest first: for the start after a crash.
    ///
    /// - Parameters:
    ///   - row: behind which to begin.
    ///   - last: with which to end.
    package func undecided(
        limit: Int, after row: Int64 = 0, through last: Int64 = .max
    ) async throws -> [(id: Int64, receivedAt: Timestamp, envelope: WakuEnvelope)] {
        try await read { database in
            try database.all(
                """
                SELECT id, received_at, pubsub_topic, envelope FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message > ? AND unfinished_message.message <= ? AND state = 0 ORDER BY unfinished_message.message LIMIT ?
                """,
                row, last, Int64(limit)
            ) { row in
                guard let message = try? WakuMessage.decode(row.bytes(3)) else { throw StoreError.damaged }
                return (row.integer(0), row.timestamp(1), WakuEnvelope(pubsubTopic: row.text(2), message: message))
            }
        }
    }

    /// Messages that were decided and whose reply is not known to be out, oldest first: for the start after a crash.
    ///
    /// - Parameters:
    ///   - row: behind which to begin.
    ///   - last: with which to end.
    package func unreplied(limit: Int, after row: Int64 = 0, through last: Int64 = .max) async throws -> [(id: Int64, reply: Reply)] {
        try await read { database in
            try database.all(
                """
                SELECT id, reply_type, reply, recipient, pubsub_topic, status_message_id
                FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message > ? AND unfinished_message.message <= ? AND state <> 0 ORDER BY unfinished_message.message LIMIT ?
                """,
                row, last, Int64(limit)
            ) { row in
                let reply = Reply(
                    type: MessageType(rawValue: Int32(truncatingIfNeeded: row.integer(1))), payload: row.bytes(2),
                    recipient: try row.fixedBytes(3), pubsubTopic: row.text(4),
                    statusMessageID: row.isNull(5) ? nil : try row.fixedBytes(5))
                return (row.integer(0), reply)
            }
        }
    }

    /// The rows of messages that wait for their decision, and of those whose reply is not known to be out.
    package func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64]) {
        try await read { database in
            var rows: (undecided: [Int64], unreplied: [Int64]) = ([], [])
            try database.forEach("SELECT id, state = 0 FROM unfinished_message JOIN message ON id = unfinished_message.message") { row in
                if row.integer(1) == 1 { rows.undecided.append(row.integer(0)) } else { rows.unreplied.append(row.integer(0)) }
            }
            return rows
        }
    }

    /// How many messages wait for their decision.
    package func undecidedCount() async throws -> Int {
        try await read { try $0.count("\(Self.countUnfinished) state = 0") }
    }

    /// How many replies wait to go out.
    package func unrepliedCount() async throws -> Int {
        try await read { try $0.count("\(Self.countUnfinished) state <> 0") }
    }

    private static let countUnfinished =
        "SELECT count(*) FROM unfinished_message JOIN message ON id = unfinished_message.message WHERE"
}
