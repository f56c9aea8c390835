import Envelope

extension SharedStore {
    package func clock() async throws -> StoredClock? {
        let name = serverName
        return try await reading { database in
            try database.first(
                "SELECT read_at, expected_at, held_for FROM clock ORDER BY server_name = $1 DESC, read_at DESC LIMIT 1", name
            ) { row in
                StoredClock(readAt: try row.next(), expectedAt: try row.next(), heldFor: .nanoseconds(try row.next(Int64.self)))
            }
        }
    }

    package func save(_ clock: StoredClock) async throws {
        let (name, heldFor) = (serverName, Timestamp(nanoseconds: 0).advanced(by: clock.heldFor).nanoseconds)
        try await writing { transaction in
            try transaction.database.add(
                """
                INSERT INTO clock (server_name, read_at, expected_at, held_for) VALUES ($1, $2, $3, $4)
                ON CONFLICT (server_name) DO UPDATE SET
                    read_at = excluded.read_at, expected_at = excluded.expected_at, held_for = excluded.held_for
                """,
                name, clock.readAt, clock.expectedAt, heldFor)
        }
    }
}
