import Logging
import Store
import Synchronization

extension PostgreSQLStore {
    package var damagedRowCount: Int { damagedRows.load(ordering: .relaxed) }

    func setAside(_ rows: [Int64], _ kind: DamagedRowKind) async throws {
        guard !rows.isEmpty else { return }
        try await write { try $0.setAside(rows, kind) }
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
