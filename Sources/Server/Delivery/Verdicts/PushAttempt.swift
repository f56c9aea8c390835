import Bytes
import Envelope
import PushProtocol
import Store
import Wire

/// An attempt to deliver a push, with its outcome.
struct PushAttempt: Sendable, Equatable {
    var choice: AttemptChoice
    var push: QueuedPush
    var outcome: AttemptOutcome
    /// Whether the request had other devices, too.
    var isShared = false
    /// The time of the attempt by the wall clock.
    var at: Timestamp
    /// The times of the request and of its end by ``SteadyTime``.
    var postedAt: Timestamp
    var answeredAt: Timestamp
    /// How long the push itself waits before its next attempt, whatever its device does.
    var ownDelay = Duration.zero
    /// The push's attempts that may have been sent, this one included.
    var uncertain: UncertainAttempts
    /// Whether the push was marked before the attempt or during it.
    var isMarked = false

    init(
        choice: AttemptChoice, push: QueuedPush, outcome: AttemptOutcome, isShared: Bool = false, at: Timestamp, postedAt: Timestamp,
        answeredAt: Timestamp, ownDelay: Duration = .zero
    ) {
        (self.choice, self.push, self.outcome, self.isShared) = (choice, push, outcome, isShared)
        (self.at, self.postedAt, self.answeredAt, self.ownDelay) = (at, postedAt, answeredAt, ownDelay)
        uncertain = push.uncertain
    }

    var duration: Duration { postedAt.duration(to: answeredAt) }
}

extension PushAttempt {
    /// After this time a further delivery to a target is stored.
    private static let deliveryInterval = Duration.seconds(24 * 3_600)

    /// The bundle id, or "" for Android.
    var topic: String { push.push.tokenType == .apn ? push.push.apnTopic : "" }

    /// Whether the device got a push in the last two days. The stored time may be a day older than the newest delivery.
    var isOfRecentDevice: Bool {
        push.deliveredAt.map { at < $0.advanced(by: RecentDevices.interval + Self.deliveryInterval) } ?? false
    }

    var refusal: RefusalRules.Refusal {
        RefusalRules.Refusal(
            topic: topic, target: push.targetDigest, isProven: push.provenAt != nil, postedAt: postedAt, answeredAt: answeredAt,
            isCall: choice.kind == .call)
    }

    /// Returns what is written about the device token.
    func tokenChanges(by decision: PushDecision, in context: OutcomeContext) -> [OutboxUpdate.TokenChange] {
        switch decision.token {
        case .none: return []
        case .suspect(let suspicion): return [.suspect(push.targetDigest, suspicion, route: context.route)]
        case .works:
            var changes: [OutboxUpdate.TokenChange] = []
            if push.suspicion != nil || choice.kind != .first { changes.append(.clearSuspicion(push.targetDigest)) }
            if push.deliveredAt.map({ $0.advanced(by: Self.deliveryInterval) <= context.now }) ?? true {
                changes.append(push.registration.map { .delivered($0) } ?? .deliveredToken(push.targetDigest))
            }
            return changes
        case .unregister:
            let dead = DeadToken(
                token: push.push.deviceToken, type: push.push.tokenType, apnTopic: topic, tried: push.registration, attemptedAt: at,
                reason: decision.reason ?? .unregistered, route: context.route)
            // A gateway's pushes have no registration whose end withdraws them.
            let others: [OutboxUpdate.TokenChange] =
                push.notification == nil ? [] : [.expirePushes(to: choice.device, route: context.route, reason: dead.reason)]
            return [.clearSuspicion(push.targetDigest), .unregister(dead)] + others
        case .giveUp(let suspicion):
            return [
                .suspect(push.targetDigest, suspicion, route: context.route),
                .expirePushes(to: choice.device, route: context.route, reason: decision.reason ?? .unregistered),
            ]
        }
    }
}
