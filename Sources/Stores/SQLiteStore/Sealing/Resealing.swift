import GRDB
import Store

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
struct Resealing {
    /// One transaction takes this many rows, or 1 MiB of their secrets, in a few milliseconds of the writer.
    private static let maximumRowCount = 500
    private static let maximumByteCount = 1 << 20
    /// One transaction overwrites this many pages, 4 MB.
    private static let maximumPageCount = 1_000

    let transaction: WriteTransaction
    /// The first byte of the values that the newest key has sealed.
    let newestKey: [UInt8]

    private var database: Database { transaction.database }

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        let position: Int64?
        switch state.step {
        case .originKeys: position = try resealOriginKeys()
        case .takingFreePages: position = try takeFreePages()
        case .returningFreePages: position = try returnFreePages()
        default:
            guard let (table, key) = state.step.sealedTable else { return }
            position = try reseal(table, key, after: state.position)
        }
        try database.run("UPDATE sealing SET step = ?, position = ?", position == nil ? state.step.next : state.step, position ?? 0)
    }

    // MARK: Rows

    /// Reads the next rows of a table and changes those that an older key has sealed.
    ///
    /// - Parameter column: The numeric key of the rows.
    /// - Returns: The last row that was read, or nil without rows after it.
    private func reseal(_ table: SealedTable<RowCursor>, _ column: String, after position: Int64) throws -> Int64? {
        let key = "\(table.name).\(column)"
        let isStale = table.sealedColumns.map { "coalesce(substr(\($0), 1, 1) <> ?2, 0)" }.joined(separator: " OR ")
        var (due, damaged): ([(Int64, [[UInt8]?])], [Int64]) = ([], [])
        var (last, rowCount, byteCount) = (position, 0, 0)
        var isAtLimit = false
        try database.step(
            "SELECT \(key), \(isStale), \(table.columns) FROM \(table.source) AND \(key) > ?1 ORDER BY \(key)", position, newestKey
        ) { row in
            last = try row.next()
            if try row.next(Bool.self) {
                // A row that does not open keeps its value: it must not stop the others.
                if let values = try row.readable(last, or: &damaged, { try table.resealed(&$0, transaction.sealing) }) {
                    due.append((last, values))
                    byteCount += values.reduce(0) { $0 + ($1?.count ?? 0) }
                }
            } else {
                row.skipRest()
            }
            rowCount += 1
            isAtLimit = rowCount >= Self.maximumRowCount || byteCount >= Self.maximumByteCount
            return !isAtLimit
        }
        for (id, values) in due { try table.store(values, where: column, is: id, database) }
        return isAtLimit ? last : nil
    }

    /// Users aren't numbered, so each transaction looks for the rest, until only rows are left that do not open.
    private func resealOriginKeys() throws -> Int64? {
        let table = SealedTable<RowCursor>.originKeys
        var damaged: [Int64] = []
        let users = try database.all(
            "SELECT user, \(table.columns) FROM \(table.name) WHERE substr(secrets, 1, 1) <> ?1 LIMIT ?2", newestKey, Self.maximumRowCount
        ) { row in
            let user: String = try row.next()
            return (user: user, values: try row.readable(0, or: &damaged) { try table.resealed(&$0, transaction.sealing) })
        }
        for (user, values) in users { if let values { try table.store(values, where: "user", is: user, database) } }
        return users.count < Self.maximumRowCount || damaged.count == users.count ? nil : 0
    }

    // MARK: Remains

    /// Takes free pages for a value of zeros. Pages that became free under `secure_delete = FAST` have their old content.
    private func takeFreePages() throws -> Int64? {
        let freeCount = try database.count("SELECT freelist_count FROM pragma_freelist_count")
        guard freeCount > 0 else { return nil }
        try database.run(
            "INSERT INTO overwriting (content) SELECT zeroblob(? * (page_size - 4)) FROM pragma_page_size",
            min(freeCount, Self.maximumPageCount))
        return 0
    }

    /// Frees the taken pages, which SQLite overwrites.
    private func returnFreePages() throws -> Int64? {
        let changedCount = try database.run("DELETE FROM overwriting WHERE id = (SELECT max(id) FROM overwriting)")
        return changedCount == 0 ? nil : 0
    }
}

extension SealedTable<RowCursor> {
    /// The rows to read, after `FROM`, to which a further condition can be added. SQLite reads the tables of a CROSS JOIN in their order.
    fileprivate var source: String {
        switch name {
        case "registration_lists":
            "registration_lists CROSS JOIN registration ON registration.id = registration_lists.registration WHERE true"
        case "push": "push INDEXED BY push_open WHERE finished_at IS NULL"
        case "nextcloud_origin_push":
            "nextcloud_origin_push CROSS JOIN nextcloud_origin_device AS device ON device.id = nextcloud_origin_push.device WHERE true"
        default: "\(name) WHERE true"
        }
    }
}
