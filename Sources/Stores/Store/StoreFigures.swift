package import Envelope

/// Figures for metrics, all read from the same database state.
package struct StoreFigures: Sendable, Equatable {
    /// An open push's state in the outbox.
    package enum OpenPush: Sendable, CaseIterable {
        /// The push waits for its first attempt.
        case firstAttempt
        /// The push waits for a time: when its retry is due, or when its target has a credit again.
        case retryOrDeferred
    }

    /// The facts for `Audit(ledgerOf:)`, without counts of finished rows.
    package var ledger = AuditFacts()
    package var openPushes = Dictionary(uniqueKeysWithValues: OpenPush.allCases.map { ($0, 0) })
    /// The time at which the oldest open push was accepted, or nil if no push is open.
    package var oldestOpenPush: Timestamp?
    /// What the database's own clock showed, or nil if its clock is this machine's.
    package var databaseTime: Timestamp?
    /// The number of decided messages whose reply is not marked as published.
    package var unpublishedCount = 0
    /// The number of live registrations.
    package var registrationCount = 0
    package var suspectedTokenCount = 0
    /// The database's size in bytes, or nil for a file, whose size anyone can read.
    package var databaseByteCount: Int?

    package init() {}
}
