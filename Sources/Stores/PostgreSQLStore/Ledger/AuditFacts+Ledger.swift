import Store

extension AuditFacts {
    /// A row of the ledger: a server's counts of a milestone.
    typealias LedgerRow = (server: String, milestone: Milestone?, count: Int64, pruned: Int64)

    /// The query of the ledger's rows, for ``add(ledger:)``.
    static var ledger: Query<[LedgerRow]> {
        .all("SELECT server_name, milestone, count, pruned FROM ledger") { row in
            (try row.next(), Milestone(rawValue: try row.next()), try row.next(), try row.next())
        }
    }

    /// Adds the counts of all servers, and those of each.
    mutating func add(ledger rows: [LedgerRow]) {
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
