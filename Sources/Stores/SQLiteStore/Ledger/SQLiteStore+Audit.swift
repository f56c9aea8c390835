import GRDB
package import Store

extension SQLiteStore {
    package func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts {
        try await read { database in
            var facts = AuditFacts()
            try database.readLedger(into: &facts)
            var messages = try RowSteps(of: "message", in: database)
            var pushes = try RowSteps(of: "push", in: database)
            let total = messages.rowCount + pushes.rowCount
            while let (rows, done) = try messages.next() {
                try Self.readMessages(rows, database, into: &facts)
                report(done, total)
            }
            while let (rows, done) = try pushes.next() {
                try Self.readPushes(rows, database, into: &facts)
                report(messages.rowCount + done, total)
            }
            try database.readRowsEver(into: &facts)
            facts.setAside = try database.damagedRows()
            return facts
        }
    }

    // Here states are read as numbers: one that does not exist is what the audit looks for.

    private static func readMessages(_ rows: ClosedRange<Int64>, _ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach(
            "SELECT state, ignore_reason, decided_at IS NULL, count(*) FROM message WHERE id BETWEEN ? AND ? GROUP BY 1, 2, 3",
            rows.lowerBound, rows.upperBound
        ) { row in
            try facts.addMessages(state: row.next(), reason: row.next(), isUndecided: row.next(), count: row.next())
        }
    }

    private static func readPushes(_ rows: ClosedRange<Int64>, _ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach(
            "SELECT state, finished_at IS NULL, count(*) FROM push WHERE id BETWEEN ? AND ? GROUP BY 1, 2", rows.lowerBound, rows.upperBound
        ) { row in
            try facts.addPushes(state: row.next(), isOpen: row.next(), count: row.next())
        }
        facts.leakyRowCount += Int64(
            try database.count(
                "SELECT count(*) FROM push WHERE id BETWEEN ? AND ? AND finished_at IS NOT NULL AND secrets IS NOT NULL",
                rows.lowerBound, rows.upperBound))
    }
}

/// A table's rows in steps, by their numbers, so that a tool can report its progress between two steps.
private struct RowSteps {
    /// Takes SQLite less than a second.
    private static let stepRowCount: Int64 = 50_000

    /// The number of row numbers from the oldest to the newest row.
    let rowCount: Int
    private let table: StaticString
    private let database: Database
    private var nextRow: Int64
    private let first: Int64
    private let last: Int64

    init(of table: StaticString, in database: Database) throws {
        self.table = table
        self.database = database
        // A file from outside may have any numbers. Those of real rows begin at 1, and half of the others are enough for ever.
        first = Swift.max(1, Int64(try database.count("SELECT coalesce(min(id), 1) FROM \(table)")))
        last = Swift.min(Int64.max / 2, Int64(try database.count("SELECT coalesce(max(id), 0) FROM \(table)")))
        nextRow = first
        rowCount = Int(Swift.max(0, last.clampedDifference(first).clampedSum(1)))
    }

    /// Returns the next row numbers, and how many row numbers there are up to their end.
    mutating func next() throws -> (rows: ClosedRange<Int64>, done: Int)? {
        // Of numbers that are far apart, the steps between have no rows.
        nextRow = Int64(try database.count("SELECT coalesce(min(id), \(Int64.max)) FROM \(table) WHERE id >= ?", nextRow))
        guard nextRow <= last else { return nil }
        let rows = nextRow...Swift.min(nextRow + Self.stepRowCount - 1, last)
        nextRow = rows.upperBound + 1
        return (rows, Int(nextRow - first))
    }
}

extension Database {
    func readLedger(into facts: inout AuditFacts) throws {
        try forEach("SELECT milestone, count, pruned FROM ledger") { row in
            let (name, count, pruned): (String, Int64, Int64) = (try row.next(), try row.next(), try row.next())
            guard let milestone = Milestone(rawValue: name) else { return facts.damagedRowCount += 1 }
            facts.counts[milestone] = count
            facts.prunedCounts[milestone] = pruned
        }
    }

    /// AUTOINCREMENT numbers are consecutive (https://www.sqlite.org/autoinc.html, section 2) and the newest row is never deleted, so the
    /// highest number says how many rows there ever were. It includes the numbers that a copy from PostgreSQL left unused.
    func readRowsEver(into facts: inout AuditFacts) throws {
        facts.messageRowsEver = try rowsEver("message")
        facts.pushRowsEver = try rowsEver("push")
    }

    private func rowsEver(_ table: String) throws -> Int64 {
        let unused = "coalesce((SELECT count FROM unused_number WHERE table_name = '\(table)'), 0)"
        return Int64(try count("SELECT coalesce(max(id), 0) - \(unused) FROM \(table)"))
    }

    func damagedRows() throws -> [String] {
        try all(
            """
            SELECT kind, row FROM damaged_row WHERE kind = 'message' AND row IN (SELECT message FROM unfinished_message)
                OR kind = 'push' AND row IN (SELECT id FROM push WHERE finished_at IS NULL)
                OR kind = 'registration' AND row IN (SELECT id FROM registration WHERE is_live = 1)
            ORDER BY kind, row
            """
        ) { "\(try $0.next(String.self)) \(try $0.next(Int64.self))" }
    }
}
