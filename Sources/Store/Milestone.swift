import GRDB

/// What the ledger counts: the raw value is stored (RELIABILITY.md I5).
package enum Milestone: String, Sendable, CaseIterable {
    // Messages: received = duplicate + invalid + ignored + processed, and those that wait for their decision.

    case received
    case duplicate
    case invalid
    case ignored
    case processed

    // Pushes reported as success and not filtered: accepted = merged + sent + expired + dead + refused + discarded, and those that are open.

    case accepted
    /// The triple was in the outbox already.
    case merged
    case sent
    case expired
    case dead
    case refused
    case discarded

    // Beside the balance.

    /// Reported as success and not sent, as the registration wants it.
    case filtered
    /// Attempts whose outcome is not known: as often, at most, a phone can have been rung twice (RELIABILITY.md I2).
    case uncertain
}

/// What a transaction adds to the ledger: one statement a milestone, however many messages share the transaction.
final class LedgerChanges {
    private var amounts: [Milestone: (count: Int, pruned: Int)] = [:]

    fileprivate func add(_ milestone: Milestone, count: Int = 0, pruned: Int = 0) {
        guard count != 0 || pruned != 0 else { return }
        let before = amounts[milestone] ?? (0, 0)
        amounts[milestone] = (before.count + count, before.pruned + pruned)
    }

    /// To be called once, before the transaction commits.
    func write(to database: Database) throws {
        for (milestone, amount) in amounts {
            try database.run(
                """
                INSERT INTO ledger (milestone, count, pruned) VALUES (?, ?, ?)
                ON CONFLICT DO UPDATE SET count = count + excluded.count, pruned = pruned + excluded.pruned
                """,
                milestone.rawValue, Int64(amount.count), Int64(amount.pruned))
        }
    }
}

extension StoreTransaction {
    /// Adds to the ledger; it is durable with all else that the transaction does.
    func count(_ milestone: Milestone, by amount: Int = 1) {
        ledger.add(milestone, count: amount)
    }

    /// Notes that rows which stood for a milestone are deleted.
    func countPruned(_ milestone: Milestone, by amount: Int) {
        ledger.add(milestone, pruned: amount)
    }

    /// Counts what became of a push request's notifications beside the pushes that entered the outbox.
    ///
    /// - Parameters:
    ///   - merged: accepted, for a push that is in the outbox already.
    ///   - filtered: reported as success, not to be sent.
    package func count(merged: Int, filtered: Int) {
        count(.accepted, by: merged)
        count(.merged, by: merged)
        count(.filtered, by: filtered)
    }
}
