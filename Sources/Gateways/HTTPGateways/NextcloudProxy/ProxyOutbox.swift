package import Envelope
package import Store

/// The outbox that takes the proxy's notifications.
package protocol ProxyOutbox: Sendable {
    /// Accepts notifications, all of them or none. They are durable when it returns.
    ///
    /// - Parameter repeatsSince: A notification that was already accepted at that time or later is left out.
    func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws
}
