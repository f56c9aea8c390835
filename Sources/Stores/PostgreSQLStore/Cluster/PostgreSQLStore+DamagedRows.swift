import Logging
import Store
import Synchronization

extension PostgreSQLStore {
    package var damagedRowCount: Int { damagedRows.load(ordering: .relaxed) }

    /// Sets rows aside. A push then waits until a server starts or takes it over, which makes it due again.
    func setAside(_ rows: [Int64], _ kind: DamagedRowKind) async throws {
        guard !rows.isEmpty else { return }
        try await pool.perform(.writing) { database in
            database.add(
                "INSERT INTO damaged_row (kind, row) SELECT $1, * FROM unnest($2::int8[]) ON CONFLICT DO NOTHING", kind.rawValue,
                SQLArray(rows))
            guard kind == .push else { return }
            database.add(
                "UPDATE push SET next_attempt_at = \(NextAttempt.held), reason = 'damaged' WHERE id = ANY($1) AND \(OpenPushes.byRow)",
                SQLArray(rows))
        }
        damagedRows.add(rows.count, ordering: .relaxed)
        logger.error("rows are damaged and set aside", metadata: ["table": "\(kind.rawValue)", "rows": "\(rows)"])
    }
}

extension Query<Int> {
    static var countDamagedRows: Query {
        .count(
            """
            SELECT count(*) FROM damaged_row
            WHERE kind = 'message' AND EXISTS (SELECT FROM message WHERE id = row AND is_unfinished)
                OR kind = 'push' AND EXISTS (SELECT FROM push WHERE id = row AND \(OpenPushes.byRow))
            """)
    }
}
