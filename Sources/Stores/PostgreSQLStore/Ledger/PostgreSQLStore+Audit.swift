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
            ])
            try facts.add(ledger: results[0])
            // Here states are read as numbers: one that does not exist is what the audit looks for.
            let messages = try results[1].map { row in
                (
                    state: MessageState(rawValue: try row.next()), reason: try row.next(Int64?.self).flatMap(IgnoreReason.init),
                    isUndecided: try row.next(Bool.self), count: try row.next(Int64.self)
                )
            }
            for row in messages {
                if row.state == .recorded, row.isUndecided {
                    facts.undecidedCount += row.count
                } else if let state = row.state, !row.isUndecided,
                    let milestone = try? Milestone(messageState: state, ignoreReason: row.reason)
                {
                    facts.rowCounts[milestone, default: 0] += row.count
                } else {
                    facts.damagedRowCount += row.count
                }
            }
            let pushes = try results[2].map {
                (state: try $0.next(Int64.self), isOpen: try $0.next(Bool.self), count: try $0.next(Int64.self))
            }
            for row in pushes {
                if row.isOpen, OpenPushState(rawValue: row.state) != nil {
                    facts.openCount += row.count
                } else if !row.isOpen, let outcome = PushOutcome(rawValue: row.state) {
                    facts.rowCounts[outcome.milestone, default: 0] += row.count
                } else {
                    facts.damagedRowCount += row.count
                }
            }
            facts.leakyRowCount = try results[3].map { try $0.next(Int64.self) }.first ?? 0
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
