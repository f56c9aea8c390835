package import Bytes
package import Envelope
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
    package func registrationCounts(since start: Timestamp?) async throws -> RegistrationCounts {
        try await read { database in
            let start = start ?? Timestamp(nanoseconds: .min)
            var counts = RegistrationCounts()
            let rows = try database.all(
                "SELECT is_live, token_type, count(*) FROM registration WHERE updated_at >= $1 GROUP BY 1, 2", start
            ) { row in
                (isLive: try row.next(Bool.self), type: try row.next(TokenType?.self), count: try row.next(Int.self))
            }
            for row in rows {
                if row.isLive { counts.live[row.type ?? .unknown] = row.count } else { counts.tombstones += row.count }
            }
            counts.nextcloud = try database.count(
                "SELECT count(*) FROM nextcloud_device WHERE removed_at IS NULL AND updated_at >= $1", start)
            counts.nextcloudOrigin = try database.count("SELECT count(*) FROM nextcloud_origin_device WHERE created_at >= $1", start)
            return counts
        }
    }

    package func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary] {
        try await read { database in
            try database.all(
                """
                SELECT installation_id, version, is_live, updated_at, coalesce(token_type, 0), coalesce(apn_topic, ''),
                    coalesce(enabled, false)
                FROM registration WHERE key_hash = $1 ORDER BY installation_id
                """,
                keyHash
            ) { row in
                RegistrationSummary(
                    installationID: try row.next(), version: try row.next(), isLive: try row.next(), updatedAt: try row.next(),
                    tokenType: try row.next(), apnTopic: try row.next(), isEnabled: try row.next())
            }
        }
    }

    // MARK: Topics

    package func registrationCount() async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM registration WHERE is_live") }
    }

    /// One round trip reads this many rows, a few hundred kilobytes.
    private static let topicPageCount = 10_000

    package func reduceLiveTopics<Result: Sendable>(
        into initial: Result, _ update: @Sendable (inout Result, _ registration: Int64, _ topics: QueryTopics) -> Void
    ) async throws -> Result {
        var (result, last) = (initial, Int64(0))
        while true {
            let page = try await read { [last] database in
                try database.all(
                    "SELECT id, plain_topic, prefixed_topic FROM registration WHERE id > $1 AND is_live ORDER BY id LIMIT $2", last,
                    Self.topicPageCount
                ) { ChangedRegistration(registration: try $0.next(), topics: try $0.nextTopics()) }
            }
            for changed in page { update(&result, changed.registration, changed.topics) }
            guard page.count == Self.topicPageCount, let end = page.last else { return result }
            last = end.registration
        }
    }

    package func liveTopics(of registrations: [Int64]) async throws -> [ChangedRegistration] {
        try await read { database in
            try database.all(
                "SELECT id, plain_topic, prefixed_topic FROM registration WHERE id = ANY($1) AND is_live", SQLArray(registrations)
            ) { ChangedRegistration(registration: try $0.next(), topics: try $0.nextTopics()) }
        }
    }

    // MARK: Topic keys

    package func topicKeys(
        _ topics: [(registration: Int64, prefixed: Bool)]
    ) async throws -> [(keyHash: Digest64, key: FixedBytes<32>?)?] {
        try await read { database in
            let found = try database.all(
                """
                SELECT wanted.number, registration.key_hash, topic_key
                FROM unnest($1::int8[], $2::bool[]) WITH ORDINALITY AS wanted (registration, is_prefixed, number)
                JOIN registration ON registration.id = wanted.registration
                LEFT JOIN topic_key ON topic_key.key_hash = registration.key_hash AND topic_key.is_prefixed = wanted.is_prefixed
                """,
                SQLArray(topics.map(\.registration)), SQLArray(topics.map(\.prefixed))
            ) { (index: try $0.next(Int.self) - 1, keyHash: try $0.next(Digest64.self), key: try $0.next(FixedBytes<32>?.self)) }
            var keys = [(keyHash: Digest64, key: FixedBytes<32>?)?](repeating: nil, count: topics.count)
            for row in found { keys[row.index] = (row.keyHash, row.key) }
            return keys
        }
    }

    package func topicKey(keyHash: Digest64, prefixed: Bool) async throws -> FixedBytes<32>? {
        try await read { database in
            try database.first("SELECT topic_key FROM topic_key WHERE key_hash = $1 AND is_prefixed = $2", keyHash, prefixed) {
                try $0.next()
            }
        }
    }

    package func saveTopicKey(_ key: FixedBytes<32>, keyHash: Digest64, prefixed: Bool) async throws {
        try await pool.perform(.writing) { database in
            database.add(
                """
                INSERT INTO topic_key (key_hash, is_prefixed, topic_key) VALUES ($1, $2, $3)
                ON CONFLICT (key_hash, is_prefixed) DO UPDATE SET topic_key = excluded.topic_key
                """,
                keyHash, prefixed, key)
        }
    }
}
