import GRDB
import Logging
import Store
import Synchronization

extension SQLiteStore {
    package var damagedRowCount: Int { damagedRows.load(ordering: .relaxed) }

    func setAside(_ rows: [Int64], _ kind: DamagedRowKind) async throws {
        guard !rows.isEmpty else { return }
        try await queue.perform { try $0.setAside(rows, kind) }
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
