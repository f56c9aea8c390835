package import Envelope

/// What a server's clock showed last, as the database keeps it from one run to the next.
package struct StoredClock: Hashable, Sendable {
    /// What the wall clock showed.
    package var readAt: Timestamp
    /// What it would have shown without a step that the server does not believe yet, or by which it does not prune yet. Nil without one.
    package var expectedAt: Timestamp?
    /// How long the server has run since that step, in all its runs.
    package var heldFor: Duration

    package init(readAt: Timestamp, expectedAt: Timestamp? = nil, heldFor: Duration = .zero) {
        (self.readAt, self.expectedAt, self.heldFor) = (readAt, expectedAt, heldFor)
    }
}

/// Where a server keeps its clock.
package protocol ClockStore: Sendable {
    /// Returns this server's last clock. A server that has none yet gets the newest of the other servers on its database, or nil if there
    /// is none either.
    func clock() async throws -> StoredClock?

    func save(_ clock: StoredClock) async throws
}
