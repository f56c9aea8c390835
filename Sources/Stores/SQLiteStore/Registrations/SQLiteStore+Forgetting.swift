package import Bytes
package import Envelope
import GRDB
import PushProtocol
package import StatusCrypto
package import Store

extension SQLiteStore {
    package func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten {
        try await queue.perform { transaction in
            try transaction.database.overwritingDeletedContent { try transaction.forget(key, at: now) }
        }
    }
}

extension WriteTransaction {
    package func withdrawPushes(toOwner keyHash: Digest64, at now: Timestamp) throws {
        let open = try database.all("SELECT id FROM push WHERE key_hash = ? AND finished_at IS NULL", keyHash) { try $0.next(Int64.self) }
        try finish(open, as: .withdrawn, reason: .forgotten, at: now)
    }

    package func eraseReplies(to recipient: FixedBytes<33>) throws -> Int {
        try database.run("DELETE FROM unfinished_message WHERE message IN (SELECT id FROM message WHERE recipient = ?)", recipient)
        return try database.run(
            """
            UPDATE message SET
                pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_prefix = NULL,
                status_message_id = NULL
            WHERE recipient = ?
            """,
            recipient)
    }
}

extension Database {
    /// Runs `body` while SQLite overwrites all content that it deletes, which slows other work.
    func overwritingDeletedContent<Result>(_ body: () throws -> Result) throws -> Result {
        try forEach("PRAGMA secure_delete = ON") { _ = try $0.next(Int64.self) }
        let result = Swift.Result { try body() }
        try forEach("PRAGMA secure_delete = FAST") { _ = try $0.next(Int64.self) }
        return try result.get()
    }
}
