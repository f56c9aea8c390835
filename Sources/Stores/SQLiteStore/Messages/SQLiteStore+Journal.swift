package import Bytes
package import Envelope
package import GRDB
import StatusCrypto
import Store
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

    package func unfinishedMessages<Message>(
        _ columns: String, among rows: [Int64], areDecided: Bool, in database: Database, read: (inout RowCursor) throws -> Message
    ) throws -> [Message] {
        try database.all(
            """
            SELECT \(columns) FROM unfinished_message JOIN message ON id = unfinished_message.message
            WHERE unfinished_message.message BETWEEN ? AND ? AND state \(areDecided ? "<>" : "=") \(MessageState.recorded.rawValue)
            ORDER BY unfinished_message.message
            """,
            in: RowRanges(rows), read: read)
    }
}
