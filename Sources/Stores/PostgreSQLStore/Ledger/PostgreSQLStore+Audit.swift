package import Store

extension PostgreSQLStore {
    package func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts {
        try await read { database in
            // Here states are read as numbers: one that does not exist is what the audit looks for.
            let (ledger, messages, pushes, leaks, servers, damaged) = try database.fetch(
                AuditFacts.ledger,
                .all("SELECT state, ignore_reason, decided_at IS NULL, count(*) FROM message GROUP BY 1, 2, 3") { row in
                    (
                        state: try row.next(Int64.self), reason: try row.next(Int64?.self), isUndecided: try row.next(Bool.self),
                        count: try row.next(Int64.self)
                    )
                },
                .all("SELECT state, finished_at IS NULL, count(*) FROM push GROUP BY 1, 2") { row in
                    (state: try row.next(Int64.self), isOpen: try row.next(Bool.self), count: try row.next(Int64.self))
                },
                .count("SELECT count(*) FROM push WHERE finished_at IS NOT NULL AND secrets IS NOT NULL"),
                .all(
                    """
                    SELECT name, (SELECT count(*) FROM message WHERE message.server = number AND is_unfinished
                            AND state = \(MessageState.recorded.rawValue)),
                        (SELECT count(*) FROM push WHERE push.server = number AND \(OpenPushes.due))
                    FROM server
                    """
                ) { row in
                    (name: try row.next(String.self), undecidedCount: try row.next(Int64.self), openCount: try row.next(Int64.self))
                },
                .damagedRows)
            var facts = AuditFacts()
            facts.add(ledger: ledger)
            for row in messages {
                facts.addMessages(state: row.state, reason: row.reason, isUndecided: row.isUndecided, count: row.count)
            }
            for row in pushes { facts.addPushes(state: row.state, isOpen: row.isOpen, count: row.count) }
            facts.leakyRowCount = Int64(leaks)
            facts.setAside = damaged
            // A server that has joined again has several rows.
            for server in servers {
                facts.servers[server.name, default: ServerWork()].undecidedCount += server.undecidedCount
                facts.servers[server.name, default: ServerWork()].openCount += server.openCount
            }
            // PostgreSQL does not count the rows that were ever inserted: its sequences skip numbers.
            return facts
        }
    }
}

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

extension Query<[String]> {
    static var damagedRows: Query {
        .all(
            """
            SELECT kind, row FROM damaged_row
            WHERE kind = 'message' AND EXISTS (SELECT FROM message WHERE id = row AND is_unfinished)
                OR kind = 'push' AND EXISTS (SELECT FROM push WHERE id = row AND \(OpenPushes.byRow))
                OR kind = 'registration' AND EXISTS (SELECT FROM registration WHERE id = row AND is_live)
            ORDER BY kind, row
            """
        ) { "\(try $0.next(String.self)) \(try $0.next(Int64.self))" }
    }
}
