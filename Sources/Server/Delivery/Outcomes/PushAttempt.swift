import Bytes
import Envelope
import PushProtocol
import Store
import Wire

/// An attempt to deliver a push, with its outcome.
struct PushAttempt: Sendable, Equatable {
    var push: QueuedPush
    var outcome: AttemptOutcome
    /// The time of the attempt by the wall clock.
    var at: Timestamp
    /// The times of the request and of its end by ``SteadyTime``.
    var postedAt: Timestamp
    var answeredAt: Timestamp
    /// Whether a push was delivered to the device since the request was posted, so that a refusal says nothing about it.
    var isVoid = false
    /// Whether the device may have come under suspicion since the push was read.
    var maySuspect = false
}

extension PushAttempt {
    /// After this time a further delivery to a target is stored.
    private static let deliveryInterval = Duration.seconds(24 * 3_600)

    /// The bundle id, or "" for Android.
    var topic: String { push.push.tokenType == .apn ? push.push.apnTopic : "" }

    var refusal: RefusalRules.Refusal {
        RefusalRules.Refusal(
            topic: topic, target: push.targetDigest, isProven: push.provenAt != nil, postedAt: postedAt, answeredAt: answeredAt,
            isCall: push.notification?.isTriedOnce ?? false)
    }

    /// Returns what is written about the device token.
    func tokenChanges(by decision: PushDecision, in context: OutcomeContext) -> [OutboxUpdate.TokenChange] {
        switch decision.token {
        case .none: return []
        case .suspect(let suspicion): return [.suspect(push.targetDigest, suspicion, route: context.route)]
        case .works:
            var changes: [OutboxUpdate.TokenChange] = []
            if maySuspect || push.suspicion != nil {
                let release = OutboxUpdate.Release(target: push.push.target, route: context.route, at: context.steadyNow)
                changes.append(.clearSuspicion(push.targetDigest, release: release))
            }
            if push.deliveredAt.map({ $0.advanced(by: Self.deliveryInterval) <= context.now }) ?? true {
                changes.append(push.registration.map { .delivered($0) } ?? .deliveredToken(push.targetDigest))
            }
            return changes
        case .unregister:
            let dead = DeadToken(
                token: push.push.deviceToken, type: push.push.tokenType, apnTopic: topic, tried: push.registration, attemptedAt: at,
                reason: decision.reason ?? .unregistered, route: context.route)
            return [.clearSuspicion(push.targetDigest, release: nil), .unregister(dead)]
        }
    }
}
