package import Envelope

/// The outbox as the gateways use it.
package protocol GatewayOutbox: Sendable {
    /// Queues notifications, all or none. They are due immediately.
    ///
    /// - Parameters:
    ///   - repeatsSince: A notification is merged if a push with its digest entered the outbox at this time or later. Nil turns merging
    ///     off.
    ///   - isDiscarded: Whether the pushes finish immediately as discarded. Their secrets are not written.
    /// - Returns: Each notification's push. Nil where it was merged.
    func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?]

    /// Finishes pushes as ``PushOutcome/withdrawn``. Finished pushes keep their outcome.
    func withdraw(_ pushes: [Int64], at now: Timestamp) async throws
}
