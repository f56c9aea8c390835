package import Envelope

/// What a server remembers. A store is a database behind values: no caller knows its tables, and every rule is decided outside.
///
/// What a function that writes has returned from survives a power cut; it returns whether or not its task is cancelled. Functions throw
/// ``StoreError``, those that read `CancellationError`, too. A store belongs to one identity key.
package protocol PushStore: MessageJournal, DecisionStore, TopicStore, PushOutbox, GatewayOutbox, OperatorViews {
    /// Deletes decided messages and finished pushes whose lifetime (`ProtocolLimits`) has passed. Keeps open pushes, undecided messages and
    /// tombstones. The ledger knows how many of each kind.
    ///
    /// Deletes so many rows at most that other writers do not wait long.
    func prune(at now: Timestamp) async throws -> Pruned

    /// Unregisters installations without registration and without delivery since a time, and keeps copies as of dead devices. Removes devices
    /// of the Nextcloud push proxy without registration and without notification since then.
    ///
    /// Looks at so many rows at most that other writers do not wait long; the next call goes on behind them.
    /// - Parameter row: the last one that was looked at; 0 to begin.
    func unregisterUnused(since oldest: Timestamp, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations

    /// Writes something of no meaning: to see whether the store takes writes again.
    func probe() async throws

    /// Finishes the writes that wait, and refuses later ones with `closed`.
    func close() async
}

/// What ``PushStore/prune(at:)`` has deleted.
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

/// What ``PushStore/unregisterUnused(since:after:at:)`` has done.
package struct UnusedRegistrations: Sendable, Equatable {
    /// They are unregistered.
    package var gone: [ChangedRegistration]
    /// The last row that was looked at; 0 when none are left.
    package var lastRow: Int64

    package init(gone: [ChangedRegistration], lastRow: Int64) {
        self.gone = gone
        self.lastRow = lastRow
    }
}
