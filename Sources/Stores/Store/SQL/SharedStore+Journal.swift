package import Envelope

extension SharedStore {
    package func ageFromSending(_ rows: [Int64]) async throws {
        try await writing { transaction in
            for row in rows {
                try transaction.database.add(
                    """
                    UPDATE message SET received_at = sent_at
                    WHERE id = $1 AND decided_at IS NULL AND sent_at > 0 AND sent_at < received_at
                    """,
                    row)
            }
        }
    }

    package func undecided(_ rows: [Int64]) async throws -> [RecordedEnvelope] {
        try await unfinished(rows, RecordedEnvelope.columns, areDecided: false) { row, id in try row.nextRecordedEnvelope(id) }
    }

    package func unreplied(_ rows: [Int64]) async throws -> [(id: Int64, receivedAt: Timestamp, reply: Reply)] {
        // A message that seemed undecided may have been decided by another server, which has its reply.
        try await unfinished(rows, "received_at, \(Reply.columns)", areDecided: true) { [sealing] row, id in
            (id: id, receivedAt: try row.next(Timestamp.self), reply: try row.nextReply(to: id, sealing))
        }
    }

    /// Reads messages, and sets those aside that cannot be read.
    private func unfinished<Message: Sendable>(
        _ rows: [Int64], _ columns: String, areDecided: Bool, read: @escaping @Sendable (inout Reading.Row, Int64) throws -> Message
    ) async throws -> [Message] {
        let (messages, damaged) = try await reading { database in
            var damaged: [Int64] = []
            let messages = try unfinishedMessages("id, \(columns)", among: rows, areDecided: areDecided, in: database) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { try read(&$0, id) }
            }
            return (messages.compactMap(\.self), damaged)
        }
        try await setAside(damaged, .message)
        return messages
    }
}
