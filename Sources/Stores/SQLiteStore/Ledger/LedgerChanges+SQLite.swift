import GRDB
import Store

extension LedgerChanges {
    /// Writes the changes, one statement per milestone for all messages together. Call it once, before the transaction commits.
    func write(to database: Database) throws {
        for (milestone, amount) in amounts where amount != (0, 0) {
            try database.run(
                """
                INSERT INTO ledger (milestone, count, pruned) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET count = count + excluded.count, pruned = pruned + excluded.pruned
                """,
                milestone.rawValue, amount.count, amount.pruned)
        }
    }
}
