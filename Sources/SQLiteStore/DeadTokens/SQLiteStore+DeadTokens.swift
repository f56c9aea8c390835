package import Envelope
import GRDB
import PushProtocol
package import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func suspicions(against tokens: [Digest32]) async throws -> [Digest32: Timestamp] {
        guard !tokens.isEmpty else { return [:] }
        // The read uses the writer, because GRDB cancels the read of a cancelled task.
        return try await queue.perform { transaction in
            var suspicions: [Digest32: Timestamp] = [:]
            for token in tokens {
                let sql = "SELECT suspected_at FROM suspect_token WHERE token_digest = ?"
                suspicions[token] = try transaction.database.first(sql, token) { try $0.next() }
            }
            return suspicions
        }
    }

    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await read { database in
            try database.all(
                "SELECT id, died_at, reason, route, key_hash, content FROM dead_registration ORDER BY id DESC LIMIT ?", limit
            ) { row in
                let (id, diedAt, reason): (Int64, Timestamp, String) = (try row.next(), try row.next(), try row.next())
                let (route, keyHash): (String, Digest64) = (try row.next(), try row.next())
                let content = try row.nextMessage(PushNotificationRegistration.self)
                return DeadRegistration(
                    id: id, diedAt: diedAt, reason: reason, route: route,
                    installation: Installation(keyHash: keyHash, installationID: content.installationID), version: content.version)
            }
        }
    }

    package func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration] {
        try await queue.perform { transaction in
            let database = transaction.database
            let ids = try ids ?? database.all("SELECT id FROM dead_registration") { try $0.next() }
            return try ids.compactMap { id in
                let dead = try database.first(
                    "SELECT key_hash, content, plaintext_digest, plain_topic, prefixed_topic FROM dead_registration WHERE id = ?", id
                ) { row in
                    (
                        registration: Registration(
                            keyHash: try row.next(), content: try row.nextMessage(), plaintextDigest: try row.next()),
                        topics: try row.nextTopics()
                    )
                }
                guard let dead else { return nil }
                try database.run("DELETE FROM dead_registration WHERE id = ?", id)
                guard let stored = try database.stored(dead.registration.installation), !stored.version.isRegistered,
                    stored.version.version == dead.registration.content.version
                else { return nil }
                let row = try transaction.register(dead.registration, replacing: stored, topics: dead.topics, at: now)
                return ChangedRegistration(registration: row, topics: dead.topics)
            }
        }
    }
}
