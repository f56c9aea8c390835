import GRDB
import Logging
import Store
import Synchronization

extension SQLiteStore {
    package var damagedRowCount: Int { damagedRows.load(ordering: .relaxed) }

    /// Sets rows aside. A push then waits for the next start, which makes it due again.
    func setAside(_ rows: [Int64], _ kind: DamagedRowKind) async throws {
        guard !rows.isEmpty else { return }
        try await queue.perform { transaction in
            for row in rows {
                try transaction.database.run("INSERT OR IGNORE INTO damaged_row (kind, row) VALUES (?, ?)", kind.rawValue, row)
                guard kind == .push else { continue }
                try transaction.database.run(
                    "UPDATE push SET next_attempt_at = \(NextAttempt.held), reason = 'damaged' WHERE id = ? AND finished_at IS NULL", row)
            }
        }
        damagedRows.add(rows.count, ordering: .relaxed)
        logger.error("rows are damaged and set aside", metadata: ["table": "\(kind.rawValue)", "rows": "\(rows)"])
    }
}

extension Database {
    func countDamagedRows() throws -> Int {
        try count(
            """
            SELECT count(*) FROM damaged_row WHERE kind = 'message' AND row IN (SELECT message FROM unfinished_message)
                OR kind = 'push' AND row IN (SELECT id FROM push WHERE finished_at IS NULL)
            """)
    }
}
