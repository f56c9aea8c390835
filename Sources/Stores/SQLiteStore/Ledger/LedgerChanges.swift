import GRDB
import Store

/// The changes of the ledger in a transaction: one statement per milestone for all messages together.
final class LedgerChanges {
    private var amounts: [Milestone: (count: Int, pruned: Int)] = [:]

    func add(_ milestone: Milestone, count: Int) {
        amounts[milestone, default: (0, 0)].count += count
    }

    /// Notes that rows which stood for a milestone are deleted.
    func add(_ milestone: Milestone, pruned: Int) {
        amounts[milestone, default: (0, 0)].pruned += pruned
    }

    /// Writes the changes. Call it once, before the transaction commits.
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
