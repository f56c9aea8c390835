package import Envelope

/// Figures for metrics, from one state of the database.
package struct StoreFigures: Sendable, Equatable {
    /// An open push's state in the outbox.
    package enum OpenPush: Sendable, CaseIterable {
        /// The push waits for its first attempt.
        case firstAttempt
        /// The push has a time before which it is not attempted: of its retry, or of the next credit of its target.
        case retryOrDeferred
        case inFlight
    }

    /// The facts of the ledger, for `Audit(ledgerOf:)`. Without counts of finished rows.
    package var ledger = AuditFacts()
    package var openPushes = Dictionary(uniqueKeysWithValues: OpenPush.allCases.map { ($0, 0) })
    /// The time at which the oldest open push was accepted, or nil if no push is open.
    package var oldestOpenPush: Timestamp?
    /// The number of decided messages whose reply is not marked as published.
    package var unpublishedCount = 0
    /// The number of live registrations.
    package var registrationCount = 0
    package var suspectedTokenCount = 0
    /// The database's size in bytes, or nil for a file, whose size anyone can read.
    package var databaseByteCount: Int?

    package init() {}
}
