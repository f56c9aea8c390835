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
                SELECT id, received_at, pubsub_topic, envelope FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message BETWEEN ? AND ? AND state = 0 ORDER BY unfinished_message.message
                """,
                in: RowRanges(rows)
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { row in
                    RecordedEnvelope(
                        id: id, receivedAt: try row.next(),
                        envelope: WakuEnvelope(pubsubTopic: try row.next(), message: try row.nextMessage()))
                }
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
                SELECT id, received_at, reply_type, recipient, sealed_reply, pubsub_topic, status_message_id
                FROM unfinished_message JOIN message ON id = unfinished_message.message
                WHERE unfinished_message.message BETWEEN ? AND ? AND state <> 0 ORDER BY unfinished_message.message
                """,
                in: RowRanges(rows)
            ) { row in
                let id: Int64 = try row.next()
                return try row.readable(id, or: &damaged) { row in
                    let receivedAt: Timestamp = try row.next()
                    let (type, recipient): (MessageType, FixedBytes<33>) = (try row.next(), try row.next())
                    let payload = try sealing.open(row.next(), count: 1, in: .reply(to: recipient, message: id))[0] ?? []
                    let reply = Reply(
                        type: type, payload: payload, recipient: recipient, pubsubTopic: try row.next(), statusMessageID: try row.next())
                    return (id: id, receivedAt: receivedAt, reply: reply)
                }
            }
            return (replies.compactMap(\.self), damaged)
        }
        try await setAside(damaged, .message)
        return replies
    }
}
