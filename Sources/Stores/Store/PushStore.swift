package import Envelope

/// The server's database. Callers exchange values with it and do not know its tables. It doesn't contain protocol rules.
///
/// A write survives a power cut once its function has returned. A cancelled task does not interrupt a write. Functions throw
/// ``StoreError``. Those that read may also throw `CancellationError`. A store belongs to a single identity key.
package protocol PushStore: MessageJournal, DecisionStore, TopicStore, PushOutbox, GatewayOutbox, OperatorViews, SealedStore {
    /// Deletes decided messages and finished pushes whose lifetime (`ProtocolLimits`) has passed, and counts them in the ledger. Keeps open
    /// pushes, undecided messages and tombstones.
    ///
    /// The number of rows per call is limited, so that other writers do not wait long.
    func prune(at now: Timestamp) async throws -> Pruned

    /// Unregisters installations without registration and without delivery for a lifetime, and keeps copies as it does of dead
    /// registrations. Removes the Nextcloud push proxy's devices without registration and without notification for as long.
    ///
    /// The lifetime is counted in the days of these calls (``DeliveringDays``): call it only while the server can deliver. A day has a
    /// budget for devices, and for installations that were ever delivered to. The number of rows per call is limited, so that other
    /// writers do not wait long.
    ///
    /// - Parameter row: ``UnusedRegistrations/lastRow`` from the previous call. 0 to begin.
    func unregisterUnused(for lifetime: Duration, after row: Int64, at now: Timestamp) async throws -> UnusedRegistrations

    /// The number of rows that the store has set aside since it was opened (``DamagedRowKind``).
    var damagedRowCount: Int { get }

    /// Checks that the store still writes to the file that it has opened. A database server does that itself.
    ///
    /// - Throws: ``StoreError/fileLost(path:)``.
    func checkFile() throws(StoreError)

    /// This server's membership if several servers share the database, or nil if they don't.
    var cluster: (any ClusterStore)? { get }

    /// Writes a value without meaning, to test whether the store accepts writes.
    func probe() async throws

    /// Completes the writes that wait. Later writes fail with ``StoreError/closed``.
    func close() async
}

/// The result of ``PushStore/prune(at:)``.
package struct Pruned: Sendable, Equatable {
    package var messageCount: Int
    package var pushCount: Int
    /// The number of suspicions against device tokens, or the number of copied dead registrations if that is greater.
    package var deadTokenCount: Int
    /// Whether the call reached its limit, so that more rows may be due.
    package var isBounded: Bool

    package init(messageCount: Int, pushCount: Int, deadTokenCount: Int = 0, isBounded: Bool = false) {
        self.messageCount = messageCount
        self.pushCount = pushCount
        self.deadTokenCount = deadTokenCount
        self.isBounded = isBounded
    }
}

/// The result of ``PushStore/unregisterUnused(for:after:at:)``.
package struct UnusedRegistrations: Sendable, Equatable {
    /// The registrations that were unregistered.
    package var gone: [ChangedRegistration]
    /// The last row that was examined, or 0 if the call reached the end.
    package var lastRow: Int64

    package init(gone: [ChangedRegistration], lastRow: Int64) {
        self.gone = gone
        self.lastRow = lastRow
    }
}
