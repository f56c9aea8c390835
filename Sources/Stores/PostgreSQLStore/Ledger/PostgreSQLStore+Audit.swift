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
