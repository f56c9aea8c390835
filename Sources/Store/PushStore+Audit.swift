import GRDB

extension PushStore {
    /// Reads what ``Audit`` needs. Steps through all messages and pushes: for a tool, not for daily work.
    package func auditFacts() async throws -> AuditFacts {
        try await read { database in
            var facts = AuditFacts()
            try database.forEach("SELECT milestone, count, pruned FROM ledger") { row in
                guard let milestone = Milestone(rawValue: row.text(0)) else { return facts.damagedRowCount += 1 }
                facts.counts[milestone] = row.integer(1)
                facts.prunedCounts[milestone] = row.integer(2)
            }
            try Self.readMessages(database, into: &facts)
            try Self.readPushes(database, into: &facts)
            // Each row's number is that of the newest one before it and one (https://www.sqlite.org/autoinc.html, section 2), and the newest
            // is never deleted: its number says how many there ever were.
            facts.messageRowsEver = try database.first("SELECT max(id) FROM message") { $0.integer(0) } ?? 0
            facts.pushRowsEver = try database.first("SELECT max(id) FROM push") { $0.integer(0) } ?? 0
            return facts
        }
    }

    private static func readMessages(_ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach(
            "SELECT state, ignore_reason, decided_at IS NULL, count(*) FROM message GROUP BY 1, 2, 3"
        ) { row in
            let isUndecided = row.bool(2)
            let count = row.integer(3)
            if row.integer(0) == MessageState.recorded.rawValue, isUndecided {
                facts.undecidedCount += count
            } else if !isUndecided, let milestone = try? Milestone(messageState: row.integer(0), ignoreReason: row.integer(1)) {
                facts.rowCounts[milestone, default: 0] += count
            } else {
                facts.damagedRowCount += count
            }
        }
    }

    private static func readPushes(_ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach("SELECT state, finished_at IS NULL, count(*) FROM push GROUP BY 1, 2") { row in
            let isOpen = row.bool(1)
            let count = row.integer(2)
            if isOpen, OpenPushState(rawValue: row.integer(0)) != nil {
                facts.openCount += count
            } else if !isOpen, let outcome = PushOutcome(rawValue: row.integer(0)) {
                facts.rowCounts[outcome.milestone, default: 0] += count
            } else {
                facts.damagedRowCount += count
            }
        }
        let leaky = try database.first(
            "SELECT count(*) FROM push WHERE finished_at IS NOT NULL AND (device_token <> '' OR chat_id <> x'' OR ciphertext <> x'')"
        ) { $0.integer(0) }
        facts.leakyRowCount = leaky ?? 0
    }
}
