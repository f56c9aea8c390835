package import Bytes
package import Envelope
import GRDB
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?] {
        let messages = envelopes.map { RecordableMessage($0.envelope, hash: $0.hash) }
        return try await queue.perform { try $0.record(messages, at: now) }
    }

    package func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64]) {
        _ = try await queue.perform { try $0.database.run("DELETE FROM damaged_row WHERE kind = 'message'") }
        return try await read { database in
            var rows: (undecided: [Int64], unreplied: [Int64]) = ([], [])
            try database.forEach("SELECT id, state FROM unfinished_message JOIN message ON id = unfinished_message.message") { row in
                let (id, state): (Int64, MessageState) = (try row.next(), try row.next())
                if state == .recorded { rows.undecided.append(id) } else { rows.unreplied.append(id) }
            }
            return rows
        }
    }

    package func undecided(_ rows: [Int64]) async throws -> [RecordedEnvelope] {
        let (messages, damaged) = try await read { database in
            var damaged: [Int64] = []
            let messages = try database.all(
                """
                SELECT id, \(RecordedEnvelope.columns) FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message BETWEEN ? AND ? AND state = 0 ORDER BY unfinished_message.message
                """,
                in: RowRanges(rows)
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try $0.nextRecordedEnvelope(id) }
            }
            return (messages.compactMap(\.self), damaged)
        }
        try await setAside(damaged, .message)
        return messages
    }

    package func unreplied(_ rows: [Int64]) async throws -> [(id: Int64, receivedAt: Timestamp, reply: Reply)] {
        let (replies, damaged) = try await read { [sealing] database in
            var damaged: [Int64] = []
            let replies = try database.all(
                """
                SELECT id, received_at, \(Reply.columns)
                FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message BETWEEN ? AND ? AND state <> 0 ORDER BY unfinished_message.message
                """,
                in: RowRanges(rows)
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { row in
                    (id: id, receivedAt: try row.next(Timestamp.self), reply: try row.nextReply(to: id, sealing))
                }
            }
            return (replies.compactMap(\.self), damaged)
        }
        try await setAside(damaged, .message)
        return replies
    }
}
