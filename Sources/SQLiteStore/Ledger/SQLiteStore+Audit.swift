import GRDB
package import Store

extension SQLiteStore {
    package func auditFacts() async throws -> AuditFacts {
        try await read { database in
            var facts = AuditFacts()
            try database.readLedger(into: &facts)
            try Self.readMessages(database, into: &facts)
            try Self.readPushes(database, into: &facts)
            try database.readRowsEver(into: &facts)
            return facts
        }
    }

    // Here states are read as numbers: one that does not exist is what the audit looks for.

    private static func readMessages(_ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach(
            "SELECT state, ignore_reason, decided_at IS NULL, count(*) FROM message GROUP BY 1, 2, 3"
        ) { row in
            let state = MessageState(rawValue: try row.next())
            let reason = try row.next(Int64?.self).flatMap(IgnoreReason.init)
            let (isUndecided, count): (Bool, Int64) = (try row.next(), try row.next())
            if state == .recorded, isUndecided {
                facts.undecidedCount += count
            } else if let state, !isUndecided, let milestone = try? Milestone(messageState: state, ignoreReason: reason) {
                facts.rowCounts[milestone, default: 0] += count
            } else {
                facts.damagedRowCount += count
            }
        }
    }

    private static func readPushes(_ database: Database, into facts: inout AuditFacts) throws {
        try database.forEach("SELECT state, finished_at IS NULL, count(*) FROM push GROUP BY 1, 2") { row in
            let (state, isOpen, count): (Int64, Bool, Int64) = (try row.next(), try row.next(), try row.next())
            if isOpen, OpenPushState(rawValue: state) != nil {
                facts.openCount += count
            } else if !isOpen, let outcome = PushOutcome(rawValue: state) {
                facts.rowCounts[outcome.milestone, default: 0] += count
            } else {
                facts.damagedRowCount += count
            }
        }
        facts.leakyRowCount = Int64(
            try database.count(
                """
                SELECT count(*) FROM push WHERE finished_at IS NOT NULL
                    AND (device_token <> '' OR chat_id <> x'' OR ciphertext <> x'' OR notification IS NOT NULL)
                """))
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

    /// Each row's number is that of the newest one before it and one (https://www.sqlite.org/autoinc.html, section 2), and the newest is
    /// never deleted: its number says how many there ever were.
    func readRowsEver(into facts: inout AuditFacts) throws {
        facts.messageRowsEver = Int64(try count("SELECT coalesce(max(id), 0) FROM message"))
        facts.pushRowsEver = Int64(try count("SELECT coalesce(max(id), 0) FROM push"))
    }
}
