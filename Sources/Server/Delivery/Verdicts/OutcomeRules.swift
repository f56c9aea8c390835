import Envelope
import PushProtocol
import Store

/// The decision about a push after an attempt.
struct PushDecision: Sendable, Equatable {
    enum Disposition: Sendable, Equatable {
        case finish(PushOutcome)
        case retry(after: Duration, isUnknown: Bool)
        /// The push returns to its state before the attempt, which does not count.
        case release
    }

    /// The change of the device token.
    enum TokenAction: Sendable, Equatable {
        case none
        case unregister
        case suspect(Suspicion)
        /// The device never worked, and enough of its refusals count: its waiting pushes end, and it stays registered.
        case giveUp(Suspicion)
        /// A push has arrived.
        case works

        /// Whether nothing brings back what it ends.
        var isGivingUp: Bool {
            switch self {
            case .unregister, .giveUp: true
            case .none, .suspect, .works: false
            }
        }
    }

    var disposition: Disposition
    var reason: PushReason?
    var token = TokenAction.none
    /// The refusals of the push; nil if they do not change.
    var refusals: PushRefusals?
}

extension QueuedPush {
    /// Whether the push may be repeated without its ciphertext.
    var mayBeShortened: Bool { refusals.shortening == .none && !push.message.isEmpty }

    /// Whether it may be posted once at most: somebody waits for the outcome.
    private var isPostedOnce: Bool { notification.map { $0.isCall || $0.isTriedOnce } ?? false }

    /// Whether an attempt of it may have rung, and no other may follow.
    var mustNotRingAgain: Bool { state == .unknown && isPostedOnce }

    /// Whether it is marked before its attempt: so that a crash does not repeat it, or that no other push is merged into it any more.
    var isMarkedFirst: Bool { isPostedOnce || wasDeferred }
}

/// Decides what follows from an attempt (DELIVERY_RULES.md). When the next one is made is up to the device, except for the push's own
/// delay.
struct OutcomeRules: Sendable {
    var refusals = RefusalRules()
    /// Whether a device may be given up: not while the clock is in doubt.
    var mayGiveUp = true

    /// - Parameter suspicion: The refusals of the device in a row before this attempt.
    func decide(_ attempt: PushAttempt, suspicion: Suspicion?) -> PushDecision {
        var decision = judge(attempt, suspicion: suspicion)
        if !mayGiveUp, decision.token.isGivingUp {
            decision = PushDecision(disposition: .retry(after: ProportionalBackOff.longest, isUnknown: false), reason: decision.reason)
        }
        switch decision.disposition {
        // Nobody waits for a second attempt of a call, and who sends a push that is tried once gets the result of that attempt.
        case .retry where attempt.choice.kind == .call: decision.disposition = .finish(.expired)
        case .retry, .release, .finish(.expired):
            if attempt.push.notification?.isTriedOnce ?? false { decision.disposition = .finish(.withdrawn) }
        case .finish: break
        }
        return decision
    }

    private func judge(_ attempt: PushAttempt, suspicion: Suspicion?) -> PushDecision {
        func retry(_ reason: PushReason, isUnknown: Bool = false) -> PushDecision {
            PushDecision(disposition: .retry(after: attempt.ownDelay, isUnknown: isUnknown), reason: reason)
        }
        switch attempt.outcome {
        case .sent: return PushDecision(disposition: .finish(.sent), token: .works)
        case .unknown(let reason): return retry(reason, isUnknown: true)
        case .broken: return retry(.noResponse, isUnknown: true)
        case .passing(let reason, _): return retry(reason)
        case .notSent(let reason): return PushDecision(disposition: .release, reason: reason)
        case .failed(let failure):
            let reason = failure.reason
            switch failure.kind {
            case .transient, .deviceQuota, .quota, .credentials, .operatorFault, .topic, .unknown: return retry(reason)
            case .deadToken: return PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
            case .refusedDevice:
                guard let judgement = refusals.judge(attempt.refusal, after: suspicion) else { return retry(reason) }
                guard judgement.isDead else {
                    var decision = retry(reason)
                    decision.token = .suspect(judgement.suspicion)
                    return decision
                }
                return attempt.push.provenAt != nil
                    ? PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
                    : PushDecision(disposition: .finish(.expired), reason: reason, token: .giveUp(judgement.suspicion))
            case .tooLong, .refusedPush:
                var refused = refusals.judge(attempt.refusal, after: attempt.push.refusals, acceptedAt: attempt.push.acceptedAt)
                var decision = retry(reason)
                switch refused.shortening {
                case .none where failure.kind == .tooLong && attempt.push.mayBeShortened:
                    refused.shortening = .next
                    decision.disposition = .retry(after: .zero, isUnknown: false)
                case _ where refused.countedCount >= RefusalRules.requiredCount:
                    return PushDecision(disposition: .finish(.refused), reason: reason)
                case .next: refused.shortening = .refused
                case .none, .refused: break
                }
                decision.refusals = refused
                return decision
            }
        }
    }
}
