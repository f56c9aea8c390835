import GRDB
import Store

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
struct Resealing {
    /// One transaction overwrites this many pages, 4 MB.
    private static let maximumPageCount = 1_000

    let transaction: WriteTransaction
    /// The first byte of the values that the newest key has sealed.
    let newest: [UInt8]

    private var database: Database { transaction.database }

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        let position: Int64?
        switch state.step {
        case .originKeys: position = try resealOriginKeys()
        case .takingFreePages: position = try takeFreePages()
        case .returningFreePages: position = try returnFreePages()
        default:
            guard let rows = state.step.rows else { return }
            position = try transaction.reseal(rows, after: state.position, newest: newest)
        }
        try database.run("UPDATE sealing SET step = ?, position = ?", position == nil ? state.step.next : state.step, position ?? 0)
    }

    /// Users aren't numbered, so each transaction looks for the rest, until only rows are left that do not open.
    private func resealOriginKeys() throws -> Int64? {
        let table = SealedTable<RowCursor>.originKeys
        let users = try database.all(
            "SELECT user, \(table.columns) FROM \(table.name) WHERE substr(secrets, 1, 1) <> ? LIMIT ?", newest,
            ResealingLimits.maximumRowCount
        ) { row in
            let user: String = try row.next()
            return (user: user, values: try row.readable { try table.resealed(&$0, transaction.sealing) })
        }
        for (user, values) in users { if let values { try table.store(values, where: "user", is: user, database) } }
        return users.count < ResealingLimits.maximumRowCount || !users.contains { $0.values != nil } ? nil : 0
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
