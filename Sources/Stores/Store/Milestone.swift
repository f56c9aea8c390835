/// An event that the ledger counts. The raw value is stored (RELIABILITY.md I5).
package enum Milestone: String, Sendable, CaseIterable {
    // Messages: received = duplicate + invalid + ignored + processed + undecided.

    case received
    case duplicate
    case invalid
    case ignored
    case processed

    // Pushes reported as success and not filtered: accepted = merged + coalesced + sent + expired + dead_token + refused + discarded +
    // withdrawn + open.

    case accepted
    /// The deduplication key was in the outbox already.
    case merged
    /// The push exceeded its target's rate limit and was coalesced with a deferred push.
    case coalesced
    case sent
    case expired
    case deadToken = "dead_token"
    case refused
    case discarded
    case withdrawn

    // Events that are in no balance.

    /// Pushes that were reported as success and filtered by the registration's settings.
    case filtered
    /// Attempts with an unknown outcome: the maximum number of duplicate notifications (RELIABILITY.md I2).
    case uncertain
}
