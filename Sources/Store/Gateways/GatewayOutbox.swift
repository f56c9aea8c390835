package import Envelope

/// The same outbox, for notifications of the gateways.
package protocol GatewayOutbox: Sendable {
    /// Puts notifications into the outbox, due at once, all of them or none.
    ///
    /// - Parameters:
    ///   - repeatsSince: one whose digest entered at that time or later counts as merged with that; nil: none is.
    ///   - isDiscarded: final from the start: they are remembered, and none of their secrets is written.
    /// - Returns: the push of each; nil where it was merged.
    func enqueue(
        _ notifications: [AcceptedNotification], repeatsSince: Timestamp?, isDiscarded: Bool, at now: Timestamp
    ) async throws -> [Int64?]

    /// Ends pushes as ``PushOutcome/withdrawn``; those that have ended keep their outcome.
    func withdraw(_ pushes: [Int64], at now: Timestamp) async throws
}
