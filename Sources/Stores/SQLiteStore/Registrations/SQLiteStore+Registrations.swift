package import Bytes
import GRDB
import StatusCrypto
package import Store
import Wire

extension SQLiteStore {
    // MARK: Topics

    package func registrationCount() async throws -> Int {
        try await read { try $0.registrationCount() }
    }

    package func reduceLiveTopics<Result: Sendable>(
        into initial: Result, _ update: @Sendable (inout Result, _ registration: Int64, _ topics: QueryTopics) -> Void
    ) async throws -> Result {
        try await read { database in
            var result = initial
            try database.forEach("SELECT registration, plain, prefixed FROM query_topic") { row in
                update(&result, try row.next(), try row.nextTopics())
            }
            return result
        }
    }

    package func liveTopics(of registrations: [Int64]) async throws -> [ChangedRegistration] {
        try await read { database in
            try registrations.compactMap { registration in
                try database.first("SELECT plain, prefixed FROM query_topic WHERE registration = ?", registration) { row in
                    ChangedRegistration(registration: registration, topics: try row.nextTopics())
                }
            }
        }
    }

    // MARK: Topic keys

    package func topicKeys(
        _ topics: [(registration: Int64, prefixed: Bool)]
    ) async throws -> [(keyHash: Digest64, key: FixedBytes<32>?)?] {
        try await read { database in
            try topics.map { registration, prefixed in
                try database.first(
                    """
                    SELECT registration.key_hash, topic_key FROM registration LEFT JOIN topic_key
                    ON topic_key.key_prefix = registration.key_prefix AND topic_key.key_hash = registration.key_hash AND is_prefixed = ?
                    WHERE registration.id = ?
                    """,
                    prefixed, registration
                ) { (keyHash: try $0.next(), key: try $0.next()) }
            }
        }
    }

    package func saveTopicKey(_ key: FixedBytes<32>, keyHash: Digest64, prefixed: Bool) async throws {
        try await queue.perform { transaction in
            try transaction.database.run(
                "DELETE FROM topic_key WHERE key_prefix = ? AND key_hash = ? AND is_prefixed = ?", keyHash.prefix, keyHash, prefixed)
            try transaction.database.run(
                "INSERT INTO topic_key (key_prefix, is_prefixed, key_hash, topic_key) VALUES (?, ?, ?, ?)",
                keyHash.prefix, prefixed, keyHash, key)
        }
    }
}
