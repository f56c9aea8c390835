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

extension StoreTransaction {
    /// Adds to the ledger; it is durable with all else that the transaction does.
    func count(_ milestone: Milestone, by amount: Int = 1) throws {
        guard amount != 0 else { return }
        try database.run(
            """
            INSERT INTO ledger (milestone, count, pruned) VALUES (?, ?, 0)
            ON CONFLICT DO UPDATE SET count = count + excluded.count
            """,
            milestone.rawValue, Int64(amount))
    }

    /// Notes that rows which stood for a milestone are deleted.
    func countPruned(_ milestone: Milestone, by amount: Int) throws {
        try database.run("UPDATE ledger SET pruned = pruned + ? WHERE milestone = ?", Int64(amount), milestone.rawValue)
    }

    /// Counts what became of a push request's notifications beside the pushes that entered the outbox.
    ///
    /// - Parameters:
    ///   - merged: accepted, for a push that is in the outbox already.
    ///   - filtered: reported as success, not to be sent.
    package func count(merged: Int, filtered: Int) throws {
        try count(.accepted, by: merged)
        try count(.merged, by: merged)
        try count(.filtered, by: filtered)
    }
}
