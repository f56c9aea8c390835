import Store

extension AuditFacts {
    /// The query of the ledger's rows, for ``add(ledger:)``.
    static let selectLedger = Command("SELECT server_name, milestone, count, pruned FROM ledger")

    /// Adds the counts of all servers, and those of each.
    mutating func add(ledger rows: Rows) throws {
        let rows = try rows.map { row in
            (
                server: try row.next(String.self), milestone: Milestone(rawValue: try row.next()), count: try row.next(Int64.self),
                pruned: try row.next(Int64.self)
            )
        }
        for row in rows {
            guard let milestone = row.milestone else {
                damagedRowCount += 1
                continue
            }
            counts[milestone] = counts[milestone, default: 0].clampedSum(row.count)
            prunedCounts[milestone] = prunedCounts[milestone, default: 0].clampedSum(row.pruned)
            servers[row.server, default: ServerWork()].counts[milestone] = row.count
        }
    }
}
