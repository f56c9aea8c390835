package import Store

extension PostgreSQLStore {
    package func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts {
        try await read { database in
            var facts = AuditFacts()
            let results = try database.fetch([
                AuditFacts.selectLedger,
                Command("SELECT state, ignore_reason, decided_at IS NULL, count(*) FROM message GROUP BY 1, 2, 3"),
                Command("SELECT state, finished_at IS NULL, count(*) FROM push GROUP BY 1, 2"),
                Command("SELECT count(*) FROM push WHERE finished_at IS NOT NULL AND secrets IS NOT NULL"),
                Command(
                    """
                    SELECT name, (SELECT count(*) FROM message WHERE message.server = number AND is_unfinished
                            AND state = \(MessageState.recorded.rawValue)),
                        (SELECT count(*) FROM push WHERE push.server = number AND \(OpenPushes.due))
                    FROM server
                    """),
                .countDamagedRows,
            ])
            try facts.add(ledger: results[0])
            // Here states are read as numbers: one that does not exist is what the audit looks for.
            for row in try results[1].map({ row in
                (
                    state: try row.next(Int64.self), reason: try row.next(Int64?.self), isUndecided: try row.next(Bool.self),
                    count: try row.next(Int64.self)
                )
            }) {
                facts.addMessages(state: row.state, reason: row.reason, isUndecided: row.isUndecided, count: row.count)
            }
            for row in try results[2].map({
                (state: try $0.next(Int64.self), isOpen: try $0.next(Bool.self), count: try $0.next(Int64.self))
            }) {
                facts.addPushes(state: row.state, isOpen: row.isOpen, count: row.count)
            }
            facts.leakyRowCount = try results[3].map { try $0.next(Int64.self) }.first ?? 0
            facts.setAsideCount = try results[5].map { try $0.next(Int64.self) }.first ?? 0
            // A server that has joined again has several rows.
            for (server, undecidedCount, openCount) in try results[4].map({
                (try $0.next(String.self), try $0.next(Int64.self), try $0.next(Int64.self))
            }) {
                facts.servers[server, default: ServerWork()].undecidedCount += undecidedCount
                facts.servers[server, default: ServerWork()].openCount += openCount
            }
            // PostgreSQL does not count the rows that were ever inserted: its sequences skip numbers.
            return facts
        }
    }
}
