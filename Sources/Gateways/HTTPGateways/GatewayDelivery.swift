package import Delivery
package import Envelope
package import Store

/// Passes the gateways' notifications to the outbox. In a dry run it accepts and discards them, as all pushes.
package struct GatewayDelivery: Sendable {
    /// The maximum time for which a request waits for its push to finish: less than the time-out of any proxy.
    private static let maximumWait = Duration.seconds(25)

    private let store: any GatewayOutbox
    private let delivery: DeliveryLoop?
    private let clock: any Clock<Duration>
    private let wallClock: WallClock

    /// - Parameter delivery: The delivery, or nil for a dry run.
    package init(store: any GatewayOutbox, delivery: DeliveryLoop?, clock: any Clock<Duration>, wallClock: WallClock) {
        (self.store, self.delivery, self.clock, self.wallClock) = (store, delivery, clock, wallClock)
    }
}

extension GatewayDelivery: ProxyOutbox {
    package func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws {
        _ = try await store.enqueue(notifications, repeatsSince: repeatsSince, isDiscarded: delivery == nil, at: now)
        delivery?.wake()
    }
}

extension GatewayDelivery: SoftphoneOutbox {
    package func deliver(_ notifications: [AcceptedNotification]) async throws -> [FirstAttempt] {
        guard let delivery else {
            _ = try await store.enqueue(notifications, repeatsSince: nil, isDiscarded: true, at: wallClock.read().stamp)
            return notifications.map { _ in .sent }
        }
        var pushes: [Int64?] = []
        let results = try await delivery.firstAttempts.wait(
            for: notifications.map(\.digest), atMost: Self.maximumWait, clock: clock
        ) {
            pushes = try await store.enqueue(notifications, repeatsSince: nil, isDiscarded: false, at: wallClock.read().stamp)
            delivery.wake()
        }
        let late = zip(pushes, results).compactMap { push, result in result == nil ? push : nil }
        if !late.isEmpty { try await store.withdraw(late, at: wallClock.read().stamp) }
        return results.map { $0 ?? .failed }
    }
}
