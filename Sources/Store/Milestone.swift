/// What the ledger counts: the raw value is stored (RELIABILITY.md I5).
package enum Milestone: String, Sendable, CaseIterable {
    // Messages: received = duplicate + invalid + ignored + processed, and those that wait for their decision.

    case received
    case duplicate
    case invalid
    case ignored
    case processed

    // Pushes reported as success and not filtered: accepted = merged + coalesced + sent + expired + dead + refused + discarded +
    // withdrawn, and those that are open.

    case accepted
    /// The deduplication key was in the outbox already.
    case merged
    /// More than its target gets one by one: it became one with a push that waits for that.
    case coalesced
    case sent
    case expired
    case dead
    case refused
    case discarded
    case withdrawn

    // Beside the balance.

    /// Reported as success and not sent, as the registration wants it.
    case filtered
    /// Attempts whose outcome is not known: as often, at most, a phone can have been rung twice (RELIABILITY.md I2).
    case uncertain
}
