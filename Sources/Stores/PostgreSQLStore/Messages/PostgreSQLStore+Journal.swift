package import Bytes
package import Envelope
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import Wire

extension PostgreSQLStore {
    package func record(_ envelopes: [(hash: Digest32, envelope: WakuEnvelope)], at now: Timestamp) async throws -> [Int64?] {
        var indexes: [Digest32: Int] = [:]
        for (index, envelope) in envelopes.enumerated() where indexes[envelope.hash] == nil { indexes[envelope.hash] = index }
        // Two servers that record the same messages lock them in the same order.
        let messages = indexes.sorted { $0.value < $1.value }.map { RecordableMessage(envelopes[$0.value].envelope, hash: $0.key) }
        // A message's owner takes it, whichever server records it first.
        let owners = membership.withLock { membership in messages.map { membership.owner(of: $0.hash) } }
        let rows = try await write { transaction in
            let (new, recordedByOthers) = try transaction.database.fetch(
                .all(
                    """
                    INSERT INTO message (state, is_unfinished, server, is_taken, received_at, sent_at, hash, pubsub_topic, envelope)
                    SELECT \(MessageState.recorded.rawValue), true, owner, owner = $1, $2, sent_at, hash, topic, envelope
                    FROM unnest($3::int8[], $4::int8[], $5::bytea[], $6::bytea[], $7::bytea[]) WITH ORDINALITY
                        AS new (owner, sent_at, hash, topic, envelope, number)
                    ORDER BY number
                    ON CONFLICT (hash) DO NOTHING RETURNING hash, id, is_taken
                    """,
                    transaction.server, now, SQLArray(owners), SQLArray(messages.map(\.sentAt)), SQLArray(messages.map(\.hash)),
                    SQLArray(messages.map(\.pubsubTopic)), SQLArray(messages.map(\.envelope))
                ) { (hash: try $0.next(Digest32.self), id: try $0.next(Int64.self), isTaken: try $0.next(Bool.self)) },
                .all(
                    """
                    UPDATE message SET is_taken = true
                    WHERE hash = ANY($2) AND server = $1 AND is_unfinished AND NOT is_taken RETURNING hash, id
                    """,
                    transaction.server, SQLArray(messages.map(\.hash))
                ) { (try $0.next(Digest32.self), try $0.next(Int64.self)) })
            transaction.count(.received, by: envelopes.count)
            transaction.count(.duplicate, by: envelopes.count - new.count)
            return Dictionary(new.filter(\.isTaken).map { ($0.hash, $0.id) } + recordedByOthers) { first, _ in first }
        }
        return envelopes.enumerated().map { indexes[$1.hash] == $0 ? rows[$1.hash] : nil }
    }

    package func unfinishedRows() async throws -> (undecided: [Int64], unreplied: [Int64]) {
        _ = try await takeMessages()
        let server = number
        try await pool.perform(.writing) {
            $0.add("DELETE FROM damaged_row WHERE kind = 'message' AND row IN (SELECT id FROM message WHERE server = $1)", server)
        }
        return try await read { [number] database in
            let rows = try database.all("SELECT id, state FROM message WHERE server = $1 AND is_unfinished ORDER BY id", number) {
                (id: try $0.next(Int64.self), state: try $0.next(MessageState.self))
            }
            return (rows.filter { $0.state == .recorded }.map(\.id), rows.filter { $0.state != .recorded }.map(\.id))
        }
    }

    package func unfinishedMessages<Message>(
        _ columns: String, among rows: [Int64], areDecided: Bool, in database: Transaction, read: (inout RowCursor) throws -> Message
    ) throws -> [Message] {
        try database.all(
            """
            SELECT \(columns) FROM message
            WHERE id = ANY($1) AND server = $2 AND is_unfinished
                AND state \(areDecided ? "<>" : "=") \(MessageState.recorded.rawValue) ORDER BY id
            """,
            SQLArray(rows), number, read: read)
    }
}
