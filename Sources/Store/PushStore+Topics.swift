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

    /// Whose query topics they are, and their derived keys as far as there are any. One read for many: it costs more than what it finds.
    ///
    /// - Returns: for each topic its owner and key; nil when there is no such row. Tombstones are found too.
    package func topicKeys(
        _ topics: [(registration: Int64, prefixed: Bool)]
    ) async throws -> [(keyHash: Digest64, key: FixedBytes<32>?)?] {
        try await read { database in
            try topics.map { registration, prefixed in
                let keyHash: Digest64? = try database.first("SELECT key_hash FROM registration WHERE id = ?", registration) {
                    try $0.fixedBytes(0)
                }
                guard let keyHash else { return nil }
                return (keyHash, try Self.topicKey(keyHash: keyHash, prefixed: prefixed, in: database))
            }
        }
    }

    /// The derived key of a query topic; nil when it has not been saved.
    package func topicKey(keyHash: Digest64, prefixed: Bool) async throws -> FixedBytes<32>? {
        try await read { try Self.topicKey(keyHash: keyHash, prefixed: prefixed, in: $0) }
    }

    private static func topicKey(keyHash: Digest64, prefixed: Bool, in database: Database) throws -> FixedBytes<32>? {
        try database.first(
            "SELECT topic_key FROM topic_key WHERE key_prefix = ? AND key_hash = ? AND is_prefixed = ?",
            keyHash.prefix, keyHash, prefixed
        ) { try $0.fixedBytes(0) }
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
