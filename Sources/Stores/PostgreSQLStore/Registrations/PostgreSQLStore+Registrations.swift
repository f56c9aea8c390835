package import Bytes
import StatusCrypto
package import Store
import Wire

extension PostgreSQLStore {
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
