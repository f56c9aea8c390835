import Bytes
package import Delivery
package import Envelope
import PushProtocol
import StatusCrypto
package import Store
import Synchronization

/// Passes the gateways' notifications to the outbox. In a dry run it accepts and discards them, as all pushes.
package final class GatewayDelivery: Sendable {
    /// The maximum time for which a request waits for its push to finish: less than the time-out of any proxy.
    private static let maximumWait = Duration.seconds(25)

    private let store: any GatewayOutbox
    private let delivery: DeliveryLoop?
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let time: SteadyTime
    /// The credits of each device for notifications other than calls, as many as for a target of Status. What is over them waits.
    private let credits = Mutex(
        CreditBuckets<Digest32>(
            capacity: ProtocolLimits.pushCapacity, interval: ProtocolLimits.pushInterval,
            maximumDebt: Int(ProtocolLimits.pushLifetime / ProtocolLimits.pushInterval)))

    /// - Parameter delivery: The delivery, or nil for a dry run.
    package init(store: any GatewayOutbox, delivery: DeliveryLoop?, clock: any Clock<Duration>, wallClock: WallClock) {
        (self.store, self.delivery, self.clock, self.wallClock) = (store, delivery, clock, wallClock)
        time = SteadyTime(clock: clock, start: wallClock.read().stamp)
    }

    /// Spends a credit of a notification's device, and says when it is due.
    private func spendCredit(for notification: AcceptedNotification) -> AcceptedNotification {
        guard !notification.notification.isCall else { return notification }
        let (device, now) = (notification.targetDigest, time.now)
        var notification = notification
        notification.due = credits.withLock { credits in
            let next = credits.nextCredit(of: device, at: now)
            credits.spend(of: device, at: now)
            return next > now ? next : nil
        }
        return notification
    }
}

extension GatewayDelivery: ProxyOutbox {
    package func accept(_ notifications: [AcceptedNotification], repeatsSince: Timestamp, at now: Timestamp) async throws {
        _ = try await store.enqueue(notifications.map(spendCredit), repeatsSince: repeatsSince, isDiscarded: delivery == nil, at: now)
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
