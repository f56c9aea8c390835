import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// A notification and the pushes that it carries, ordered like its tokens.
struct DeliveryItem: Sendable {
    var identifier: NotificationID
    var notification: GorushNotification
    var pushes: [QueuedPush]
}

/// The plan for due pushes.
struct DeliveryPlan: Sendable {
    var expired: [QueuedPush] = []
    var unsendable: [(push: QueuedPush, obstacle: UnsendablePush)] = []
    /// Pushes whose installation has unregistered, or belongs to another app now, and calls whose attempt a crash has cut off.
    var withdrawn: [(push: QueuedPush, reason: PushReason)] = []
    /// Pushes with unproven bundle ids that the budget does not admit now.
    var deferred: [QueuedPush] = []
    /// Pushes that are too old only if the clock is right (``ClockAge``).
    var doubtful: [QueuedPush] = []
    /// The items, with a batch for each request.
    var batches: [[DeliveryItem]] = []

    /// After a step of the clock, so long is the time until a push whose age is in doubt is looked at again.
    private static let doubtInterval = Duration.seconds(10)

    /// Returns the changes of the pushes that are not posted.
    ///
    /// - Parameters:
    ///   - now: The monotonic time.
    ///   - jitter: Returns a number from 0 to 1, which should differ between pushes.
    func changes(in route: String, at now: Timestamp, jitter: () -> Double) -> [OutboxUpdate.Push] {
        func finish(_ push: QueuedPush, _ outcome: PushOutcome, _ reason: PushReason) -> OutboxUpdate.Push {
            .init(id: push.id, .finish(outcome), reason: reason, slot: push.slot(in: route))
        }
        func wait(_ push: QueuedPush, _ delay: Duration, _ reason: PushReason) -> OutboxUpdate.Push {
            .init(id: push.id, .release(push.state, until: now.advanced(by: delay)), reason: reason)
        }
        return withdrawn.map { finish($0.push, .withdrawn, $0.reason) }
            + deferred.map { wait($0, UnprovenBundleIDBudget.retryInterval * jitter(), .unprovenBundleID) }
            + doubtful.map { wait($0, Self.doubtInterval, .doubtfulAge) }
            + expired.map { finish($0, .expired, .lifetime) }
            + unsendable.map { push, obstacle in finish(push, .refused, obstacle.reason) }
    }
}

/// Combines pushes into requests.
struct BatchPlanner: Sendable {
    var shapes: NotificationShapes
    var lifetime: Duration
    /// ``DeliveryConfiguration/padPayload``.
    var padPayload = 0

    /// - Parameters:
    ///   - due: The chosen pushes.
    ///   - shared: The rows of those that a batch may hold. The others are posted alone.
    ///   - batch: The number of notifications in a batch. Nil means a single notification with a single token in every request.
    ///   - now: The time of the wall clock.
    ///   - admit: Returns the rows of the sendable pushes that the budget admits. Called once.
    func plan(
        _ due: [QueuedPush], sharing shared: Set<Int64> = [], batch: Int?, at now: Timestamp,
        using random: inout some RandomNumberGenerator,
        admitting admit: ([QueuedPush]) -> Set<Int64>
    ) -> DeliveryPlan {
        var plan = DeliveryPlan()
        var live: [QueuedPush] = []
        for push in due {
            if push.trust != .call, end(of: push) <= now {
                plan.expired.append(push)
            } else if let reason = push.orphanReason {
                plan.withdrawn.append((push, reason))
            } else if push.mustNotRingAgain {
                plan.withdrawn.append((push, .noResponse))
            } else if let obstacle = UnsendablePush(push.push) {
                plan.unsendable.append((push, obstacle))
            } else {
                live.append(push)
            }
        }
        let admitted = admit(live)
        plan.deferred = live.filter { !admitted.contains($0.id) }
        live.removeAll { !admitted.contains($0.id) }
        for index in live.indices where live[index].refusals.shortening == .next { live[index].push.message = [] }
        let single = live.filter { batch == nil || !shared.contains($0.id) }
        plan.batches = items(of: single, oneTokenEach: true, at: now, using: &random).map { [$0] }
        if let batch {
            let items = items(of: live.filter { shared.contains($0.id) }, oneTokenEach: false, at: now, using: &random)
            plan.batches += stride(from: 0, to: items.count, by: batch).map { Array(items[$0..<min($0 + batch, items.count)]) }
        }
        return plan
    }

    private func items(
        of pushes: [QueuedPush], oneTokenEach: Bool, at now: Timestamp, using random: inout some RandomNumberGenerator
    ) -> [DeliveryItem] {
        var items: [DeliveryItem] = []
        for push in pushes {
            guard let notification = push.notification else { continue }
            let identifier = NotificationID(at: now, using: &random)
            var item = DeliveryItem(identifier: identifier, notification: GorushNotification(notification), pushes: [push])
            item.notification.identifier = Hex.encode(identifier.bytes)
            item.notification.expiry = expiry(of: [push], at: now)
            items.append(item)
        }
        // Grouped by request, because only devices of the same request share a notification (PROTOCOL.md §10).
        let others = pushes.filter { $0.notification == nil }
        for (_, pushes) in Dictionary(grouping: others, by: \.request).sorted(by: { $0.key < $1.key }) {
            for group in GorushGroup.make(from: pushes, shapes, oneTokenEach: oneTokenEach) {
                items.append(item(group, identifier: NotificationID(at: now, using: &random), at: now))
            }
        }
        return items
    }

    /// When a push expires. A call lives as long as somebody waits for its answer, which ``WaitingCalls`` knows.
    private func end(of push: QueuedPush) -> Timestamp { push.acceptedAt.advanced(by: push.notification?.lifetime ?? lifetime) }

    /// The earliest expiry. The times hardly differ, because pushes of the same request were accepted together.
    private func expiry(of pushes: [QueuedPush], at now: Timestamp) -> GorushNotification.Expiry {
        let end = pushes.map(end).min() ?? now
        let secondsLeft = max(1, now.duration(to: end).components.seconds)
        return .init(unixSeconds: end.nanoseconds / 1_000_000_000, secondsLeft: secondsLeft)
    }

    /// Halves a batch in which gorush refuses an element, down to a single push. Attempts keep their notification ids.
    ///
    /// - Returns: Both halves, or nil for a single push.
    func divide(_ batch: [DeliveryItem], at now: Timestamp) -> [[DeliveryItem]]? {
        if batch.count > 1 {
            let middle = batch.count / 2
            return [Array(batch[..<middle]), Array(batch[middle...])]
        }
        guard let item = batch.first, item.pushes.count > 1 else { return nil }
        let middle = item.pushes.count / 2
        return [item.pushes[..<middle], item.pushes[middle...]].map { pushes in
            GorushGroup.make(from: pushes, shapes, oneTokenEach: false).map { group in
                self.item(group, identifier: item.identifier, at: now)
            }
        }
    }

    private func item(_ group: GorushGroup, identifier: NotificationID, at now: Timestamp) -> DeliveryItem {
        var notification = group.notification
        notification.identifier = Hex.encode(identifier.bytes)
        if !group.isSilent { notification.collapseIdentifier = group.pushes.first.map(Self.collapseIdentifier) }
        notification.expiry = expiry(of: group.pushes, at: now)
        notification.pad(toMultipleOf: padPayload)
        return DeliveryItem(identifier: identifier, notification: notification, pushes: group.pushes)
    }

    /// Returns an identifier that is the same at every attempt, also after a crash and in every batch, and differs between requests,
    /// servers and chats. It is a digest over the request's row, the acceptance time and the chat.
    static func collapseIdentifier(of push: QueuedPush) -> String {
        ShortDigest.of(Array("\(push.request) \(push.acceptedAt.nanoseconds) ".utf8) + push.push.chatID)
    }
}
