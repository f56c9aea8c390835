package import Bytes
package import Envelope
import GRDB
import PushProtocol
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    package func suspicions(against tokens: [Digest32], in route: String) async throws -> Suspicions {
        // The read uses the writer, because GRDB cancels the read of a cancelled task.
        try await queue.perform { transaction in
            let database = transaction.database
            var suspicions = Suspicions()
            for token in tokens {
                suspicions.byTarget[token] = try database.suspicion(code: transaction.sealing.code(of: token))
            }
            suspicions.oldest = try database.first(Self.selectOldestSuspicion, route) { try $0.next() }
            return suspicions
        }
    }

    private static let selectOldestSuspicion = """
        SELECT suspected_at FROM suspect_token WHERE route = ? AND is_proven = 1 ORDER BY suspected_at LIMIT 1
        """

    package func deadRegistrations(limit: Int) async throws -> [DeadRegistration] {
        try await read { [sealing] database in
            try database.all(
                """
                SELECT id, died_at, reason, route, key_hash, plaintext_digest, secrets FROM dead_registration
                ORDER BY id DESC LIMIT ?
                """,
                limit
            ) { row in
                let (id, diedAt, reason): (Int64, Timestamp, String) = (try row.next(), try row.next(), try row.next())
                let (route, keyHash, digest): (String, Digest64, Digest32) = (try row.next(), try row.next(), try row.next())
                let content: PushNotificationRegistration = try row.nextMessage(
                    sealing, in: .deadRegistration(of: keyHash, digest: digest))
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
                    "SELECT key_hash, plaintext_digest, secrets, plain_topic, prefixed_topic FROM dead_registration WHERE id = ?", id
                ) { row in
                    let (keyHash, digest): (Digest64, Digest32) = (try row.next(), try row.next())
                    let content: PushNotificationRegistration = try row.nextMessage(
                        transaction.sealing, in: .deadRegistration(of: keyHash, digest: digest))
                    return (
                        registration: Registration(keyHash: keyHash, content: content, plaintextDigest: digest),
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

extension Database {
    /// Returns the suspicion against a device token, or nil if none exists.
    func suspicion(code: Digest32) throws -> Suspicion? {
        try first(Self.selectSuspicion, code) { row in
            Suspicion(
                since: try row.next(), refusedAt: try row.next(), refusalCount: try row.next(), countedCount: try row.next(),
                firstCountedAt: try row.next(), isProven: try row.next())
        }
    }

    private static let selectSuspicion = """
        SELECT suspected_at, tried_at, refusals, counted_refusals, first_counted_at, is_proven FROM suspect_token
        WHERE token_digest = ?
        """
}
