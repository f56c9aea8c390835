import GRDB
package import StatusCrypto

extension PushStore {
    /// Folds over the topics of all live registrations, by row.
    ///
    /// - Parameter update: gets the row of the registration and its topics. Two million take some tenths of a second.
    package func reduceLiveTopics<Result: Sendable>(
        into initial: Result, _ update: @Sendable (inout Result, _ registration: Int64, _ topics: QueryTopics) -> Void
    ) async throws -> Result {
        try await read { database in
            var result = initial
            try database.forEach("SELECT registration, plain, prefixed FROM query_topic") { row in
                let topics = QueryTopics(
                    plain: UInt32(truncatingIfNeeded: row.integer(1)), prefixed: UInt32(truncatingIfNeeded: row.integer(2)))
                update(&result, row.integer(0), topics)
            }
            return result
        }
    }

    /// Of these registrations the topics of those that are live.
    package func liveTopics(of registrations: [Int64]) async throws -> [ChangedRegistration] {
        try await read { database in
            try registrations.compactMap { registration in
                try database.first("SELECT plain, prefixed FROM query_topic WHERE registration = ?", registration) { row in
                    ChangedRegistration(
                        registration: registration,
                        topics: QueryTopics(
                            plain: UInt32(truncatingIfNeeded: row.integer(0)), prefixed: UInt32(truncatingIfNeeded: row.integer(1))))
                }
            }
        }
    }

    /// Whose query topics they are, and their derived keys as far as there are any. One read for many: it costs more than what it finds.
    ///
    /// - Returns: for each topic its owner and key; nil when there is no such row. Tombstones are found too.
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
                ) { (keyHash: try $0.fixedBytes(0), key: $0.isNull(1) ? nil : try $0.fixedBytes(1)) }
            }
        }
    }

    /// The derived key of a query topic; nil when it has not been saved.
    package func topicKey(keyHash: Digest64, prefixed: Bool) async throws -> FixedBytes<32>? {
        try await read { database in
            try database.first(
                "SELECT topic_key FROM topic_key WHERE key_prefix = ? AND key_hash = ? AND is_prefixed = ?", keyHash.prefix, keyHash, prefixed
            ) { try $0.fixedBytes(0) }
        }
    }

    /// Saves the derived key of a query topic: 13 ms of PBKDF2 that need not be spent again.
    package func saveTopicKey(_ key: FixedBytes<32>, keyHash: Digest64, prefixed: Bool) async throws {
        try await commit { transaction in
            try transaction.database.run(
                "DELETE FROM topic_key WHERE key_prefix = ? AND key_hash = ? AND is_prefixed = ?", keyHash.prefix, keyHash, prefixed)
            try transaction.database.run(
                "INSERT INTO topic_key (key_prefix, is_prefixed, key_hash, topic_key) VALUES (?, ?, ?, ?)",
                keyHash.prefix, prefixed, keyHash, key)
        }
    }

    /// How many installations are registered.
    package func registrationCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM query_topic") }
    }
}
