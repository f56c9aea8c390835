package import Envelope

/// The outbox as the gateways use it.
package protocol GatewayOutbox: Sendable {
    /// Queues notifications, due at once, all or none.
    ///
    /// - Parameters:
    ///   - repeatsSince: A notification is merged if one with its digest entered the outbox at this time or later. Nil merges none.
    ///   - isDiscarded: Whether the pushes finish at once as discarded. Their secrets are not written.
    /// - Returns: Each notification's push. Nil where it was merged.
    func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?]

    /// Finishes pushes as ``PushOutcome/withdrawn``. Finished pushes keep their outcome.
    func withdraw(_ pushes: [Int64], at now: Timestamp) async throws
}
