package import Envelope

/// The server's database behind values. No caller knows its tables, and every rule is decided outside.
///
/// A write survives a power cut once its function has returned, which it does whether or not its task is cancelled. Functions throw
/// ``StoreError``, those that read `CancellationError`, too. A store belongs to one identity key.
package protocol PushStore: MessageJournal, DecisionStore, TopicStore, PushOutbox, GatewayOutbox, OperatorViews {
    /// Deletes decided messages and finished pushes whose lifetime (`ProtocolLimits`) has passed. Keeps open pushes, undecided messages and
    /// tombstones. The ledger knows how many of each kind.
    ///
    /// The number of rows per call is limited, so that other writers do not wait long.
    func prune(at now: Timestamp) async throws -> Pruned

    /// Unregisters installations without registration and without delivery since a time, and keeps copies as of dead devices. Removes
    /// devices of the Nextcloud push proxy without registration and without notification since then.
    ///
    /// The number of rows per call is limited, so that other writers do not wait long.
    ///
    /// - Parameter row: ``UnusedRegistrations/lastRow`` of the previous call; 0 to begin.
    func unregisterUnused(since oldest: Timestamp, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations

    /// Writes a meaningless value, to find out whether the store accepts writes again.
    func probe() async throws

    /// Finishes the writes that wait, and refuses later ones with `closed`.
    func close() async
}

/// The result of ``PushStore/prune(at:)``.
package struct Pruned: Sendable, Equatable {
    package var messageCount: Int
    package var pushCount: Int
    /// Suspicions against device tokens, or copies of dead registrations, whichever are more.
    package var deadTokenCount: Int
    /// Whether there may be more that is due.
    package var isBounded: Bool

    package init(messageCount: Int, pushCount: Int, deadTokenCount: Int = 0, isBounded: Bool = false) {
        self.messageCount = messageCount
        self.pushCount = pushCount
        self.deadTokenCount = deadTokenCount
        self.isBounded = isBounded
    }
}

/// The result of ``PushStore/unregisterUnused(since:after:at:)``.
package struct UnusedRegistrations: Sendable, Equatable {
    /// The registrations that were unregistered.
    package var gone: [ChangedRegistration]
    /// The last row that was examined; 0 when none are left.
    package var lastRow: Int64

    package init(gone: [ChangedRegistration], lastRow: Int64) {
        self.gone = gone
        self.lastRow = lastRow
    }
}
