import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

/// A notification and the pushes that it carries: in the order of its tokens, if there are several.
struct DeliveryItem: Sendable {
    var identifier: NotificationID
    var notification: GorushNotification
    var pushes: [QueuedPush]
}

/// What to do with pushes that are due.
struct DeliveryPlan: Sendable {
    var expired: [QueuedPush] = []
    var unsendable: [(push: QueuedPush, obstacle: UnsendablePush)] = []
    /// Pushes whose device has unregistered, or is another app's now.
    var withdrawn: [QueuedPush] = []
    /// Pushes with bundle ids that may be invented, and no attempt is free for them.
    var deferred: [QueuedPush] = []
    /// Pushes for suspected targets that were tried a short time ago, with the rest of the interval.
    var suspended: [(push: QueuedPush, rest: Duration)] = []
    /// The suspected targets that are tried now.
    var suspectedTargets: Set<Digest32> = []
    /// One element for each request.
    var batches: [[DeliveryItem]] = []

    /// Returns what is written before anything goes out.
    ///
    /// - Parameters:
    ///   - now: The monotonic time.
    ///   - jitter: Returns a number from 0 to 1, another one for each push.
    func changes(at now: Timestamp, jitter: () -> Double) -> [OutboxUpdate.Push] {
        withdrawn.map { .init(id: $0.id, .finish(.withdrawn), reason: "unregistered") }
            + deferred.map {
                .init(
                    id: $0.id, .postpone(until: now.advanced(by: UnprovenBundleIDBudget.retryInterval * jitter())),
                    reason: UnprovenBundleIDBudget.reason)
            }
            + suspended.map { .init(id: $0.push.id, .postpone(until: now.advanced(by: $0.rest)), reason: "suspected token") }
            + expired.map { .init(id: $0.id, .finish(.expired), reason: "lifetime") }
            + unsendable.map { push, obstacle in .init(id: push.id, .finish(.refused), reason: obstacle.rawValue) }
            + batches.joined().flatMap { item in item.pushes.map { .init(id: $0.id, .lease(item.identifier)) } }
    }
}

/// Turns pushes into requests.
struct BatchPlanner: Sendable {
    var dataFormat: GorushDataFormat
    var template: NotificationTemplate
    var lifetime: Duration

    /// - Parameters:
    ///   - batch: The number of notifications in a request; nil for one with one token.
    ///   - limit: The maximum number of pushes that go out. What is left stays due.
    ///   - now: The time of the wall clock.
    ///   - admit: Returns which pushes that could be posted may be; called once.
    func plan(
        _ due: [QueuedPush], batch: Int?, limit: Int, at now: Timestamp, using random: inout some RandomNumberGenerator,
        admitting admit: ([QueuedPush]) -> Set<Int64>
    ) -> DeliveryPlan {
        var plan = DeliveryPlan()
        var live: [QueuedPush] = []
        for push in due where live.count < limit {
            if push.acceptedAt.advanced(by: lifetime) <= now {
                plan.expired.append(push)
            } else if push.isOrphan {
                plan.withdrawn.append(push)
            } else if let obstacle = UnsendablePush(push.push) {
                plan.unsendable.append((push, obstacle))
            } else if let suspicion = push.suspicion, let rest = suspicion.rest(at: now) {
                plan.suspended.append((push, rest))
            } else if push.suspicion != nil, !plan.suspectedTargets.insert(push.targetDigest).inserted {
                plan.suspended.append((push, OutcomeRules.confirmationInterval))
            } else {
                live.append(push)
            }
        }
        let admitted = admit(live)
        plan.deferred = live.filter { !admitted.contains($0.id) }
        live.removeAll { !admitted.contains($0.id) }
        var items = live.compactMap { push -> DeliveryItem? in
            guard let notification = push.notification else { return nil }
            let identifier = NotificationID(at: now, using: &random)
            var item = DeliveryItem(identifier: identifier, notification: GorushNotification(notification), pushes: [push])
            item.notification.identifier = Hex.encode(identifier.bytes)
            return item
        }
        live.removeAll { $0.notification != nil }
        // By request: only devices of one request share a notification (PROTOCOL.md §10).
        for (_, pushes) in Dictionary(grouping: live, by: \.message).sorted(by: { $0.key < $1.key }) {
            for group in GorushGroup.make(from: pushes, format: dataFormat, template: template, oneTokenEach: batch == nil) {
                items.append(item(group, identifier: NotificationID(at: now, using: &random), at: now))
            }
        }
        let size = batch ?? 1
        plan.batches = stride(from: 0, to: items.count, by: size).map { Array(items[$0..<min($0 + size, items.count)]) }
        return plan
    }

    /// Halves a batch of which one element spoils the rest, down to a single push. Attempts keep their notification ids.
    ///
    /// - Returns: nil for one push, which cannot be divided.
    func divide(_ batch: [DeliveryItem], at now: Timestamp) -> [[DeliveryItem]]? {
        if batch.count > 1 {
            let middle = batch.count / 2
            return [Array(batch[..<middle]), Array(batch[middle...])]
        }
        guard let item = batch.first, item.pushes.count > 1 else { return nil }
        let middle = item.pushes.count / 2
        return [item.pushes[..<middle], item.pushes[middle...]].map { pushes in
            GorushGroup.make(from: pushes, format: dataFormat, template: template, oneTokenEach: false).map { group in
                self.item(group, identifier: item.identifier, at: now)
            }
        }
    }

    private func item(_ group: GorushGroup, identifier: NotificationID, at now: Timestamp) -> DeliveryItem {
        // The shortest that is left: the pushes of one request were accepted together.
        let end = group.pushes.map { $0.acceptedAt.advanced(by: lifetime) }.min() ?? now
        let secondsLeft = max(1, (end.nanoseconds - now.nanoseconds) / 1_000_000_000)
        var notification = group.notification
        notification.identifier = Hex.encode(identifier.bytes)
        if !template.isSilent { notification.collapseIdentifier = group.pushes.first.map(Self.collapseIdentifier) }
        notification.expiry = .init(unixSeconds: end.nanoseconds / 1_000_000_000, secondsLeft: secondsLeft)
        return DeliveryItem(identifier: identifier, notification: notification, pushes: group.pushes)
    }

    /// The same at every attempt, also after a crash and whatever else is in the batch, and another for every request of every server
    /// and every chat: made of the request's row, the moment it was accepted, and the chat.
    static func collapseIdentifier(of push: QueuedPush) -> String {
        ShortDigest.of(Array("\(push.message) \(push.acceptedAt.nanoseconds) ".utf8) + push.push.chatID)
    }
}

extension Suspicion {
    /// Returns how long no push may be posted to the target; nil if one may. A wall clock that was set back holds up nothing.
    fileprivate func rest(at now: Timestamp) -> Duration? {
        let end = triedAt.advanced(by: OutcomeRules.confirmationInterval)
        guard triedAt <= now, now < end else { return nil }
        return .nanoseconds(end.nanoseconds - now.nanoseconds)
    }
}
