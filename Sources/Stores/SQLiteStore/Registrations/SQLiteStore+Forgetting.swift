import Bytes
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
    fileprivate func forget(_ key: PublicKey, at now: Timestamp) throws -> Forgotten {
        let keyHash = key.hash
        var forgotten = Forgotten()
        for installation in try database.installations(of: keyHash).keys {
            guard let stored = try database.stored(installation), stored.version.isRegistered else { continue }
            try unregister(
                installation, replacing: stored, version: stored.version.version, plaintextDigest: stored.version.plaintextDigest, at: now)
            forgotten.registrationCount += 1
        }
        forgotten.tombstoneCount = try database.count(
            "SELECT count(*) FROM registration WHERE key_prefix = ? AND is_live = 0 AND key_hash = ?", keyHash.prefix, keyHash)
        try database.run("DELETE FROM topic_key WHERE key_prefix = ? AND key_hash = ?", keyHash.prefix, keyHash)
        forgotten.deadRegistrationCount = try database.run("DELETE FROM dead_registration WHERE key_hash = ?", keyHash)

        let open = try database.all("SELECT id FROM push WHERE key_hash = ? AND finished_at IS NULL", keyHash) { try $0.next(Int64.self) }
        for push in open { try finish(push, as: .withdrawn, reason: .forgotten, at: now) }
        // The rows stay for the audit without the key.
        forgotten.pushCount = try database.run(
            """
            UPDATE push SET
                key_hash = zeroblob(64), installation_id = '', apn_topic = '', deduplication_prefix = 0, deduplication_key = zeroblob(32),
                registration = NULL
            WHERE key_hash = ?
            """,
            keyHash)

        let sender = key.compressed
        try database.run("DELETE FROM unfinished_message WHERE message IN (SELECT id FROM message WHERE recipient = ?)", sender)
        forgotten.replyCount = try database.run(
            """
            UPDATE message SET
                pubsub_topic = NULL, reply_type = NULL, sealed_reply = NULL, recipient = NULL, status_prefix = NULL,
                status_message_id = NULL
            WHERE recipient = ?
            """,
            sender)
        return forgotten
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
