import Envelope
import PushProtocol
import Store
import Tasks

/// The decision about a push after an attempt.
struct PushDecision: Sendable, Equatable {
    enum Disposition: Sendable, Equatable {
        case finish(PushOutcome)
        case retry(after: Duration, isUnknown: Bool)
        /// The push returns to its state before the lease; the attempt does not count.
        case releaseLease
    }

    /// The change of the device token.
    enum TokenAction: Sendable, Equatable {
        case none
        case unregister
        case suspect(Suspicion)
        /// A push has arrived.
        case works
    }

    var disposition: Disposition
    var reason: PushReason?
    var token = TokenAction.none
    /// The refusals of the push; nil if they do not change.
    var refusals: PushRefusals?
    /// The judgement of a refusal that was not the first of its row; nil for anything else.
    var judgement: Judgement?

    struct Judgement: Sendable, Equatable {
        /// The time since which the device or the push is refused.
        var since: Timestamp
        /// Whether another device was delivered to in between.
        var hasWitness: Bool
    }
}

/// Decides what follows from an attempt (DELIVERY.md, rules 1 and 2).
struct OutcomeRules: Sendable {
    /// The delay of a push while the route fails: those that were attempted longest ago come first.
    static let outageInterval = Duration.seconds(30)

    /// Between two attempts without a response, because gorush may still be working on the first one (GORUSH.md §2.5).
    static let timeOutInterval = Duration.seconds(150)

    /// Attempts for devices and bundle ids that never worked. An honest device works at its first or second attempt, and ten take 17
    /// minutes.
    static let maximumAttemptsOfUnproven = 10

    /// Whether Apple or Google delivers nothing through the route.
    var routeFails = false
    var refusals = RefusalRules()
    /// The bundle ids that a push of the route was delivered to.
    var deliveredBundleIDs: Set<String> = []

    /// - Parameters:
    ///   - suspicion: The refusals of the device in a row before this attempt.
    ///   - jitter: From 0 to 1, for the delay before the next attempt.
    func decide(_ attempt: PushAttempt, suspicion: Suspicion?, jitter: @autoclosure () -> Double) -> PushDecision {
        let attempts = attempt.push.attempts + 1
        func retry(_ backOff: BackOff, _ reason: PushReason, isUnknown: Bool = false) -> PushDecision {
            let delay = routeFails ? Self.outageInterval : backOff.delay(afterFailures: attempts, jitter: jitter())
            return PushDecision(disposition: .retry(after: delay, isUnknown: isUnknown), reason: reason)
        }
        /// Waits for an operator, unless it is likely that the target never worked.
        func wait(_ backOff: BackOff, _ reason: PushReason, hasWorked: Bool) -> PushDecision {
            guard hasWorked || routeFails || attempts < Self.maximumAttemptsOfUnproven else {
                return PushDecision(disposition: .finish(.expired), reason: reason)
            }
            return retry(backOff, reason)
        }
        switch attempt.outcome {
        case .sent:
            return PushDecision(disposition: .finish(.sent), token: .works)
        case .unknown(let reason):
            return retry(.push, reason, isUnknown: true)
        case .timedOut(let count) where count >= TimeoutPolicy.maximumCount:
            return PushDecision(disposition: .finish(.expired), reason: .noResponseInTime)
        case .timedOut:
            let delay = max(BackOff.push.delay(afterFailures: attempts, jitter: jitter()), Self.timeOutInterval)
            return PushDecision(disposition: .retry(after: delay, isUnknown: true), reason: .noResponseInTime)
        case .notSent(let reason):
            return PushDecision(disposition: .releaseLease, reason: reason)
        case .failed(let failure):
            let (reason, hasWorked) = (failure.reason, attempt.push.provenAt != nil)
            switch failure.kind {
            case .transient:
                return retry(.push, reason)
            case .deviceQuota:
                // It is the device's own, also while the route fails.
                let delay = BackOff.patient.delay(afterFailures: attempts, jitter: jitter())
                return PushDecision(disposition: .retry(after: delay, isUnknown: false), reason: reason)
            case .quota, .credentials, .operatorFault:
                return retry(.patient, reason)
            case .topic:
                return wait(.patient, reason, hasWorked: deliveredBundleIDs.contains(attempt.topic))
            case .deadToken:
                return PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
            case .refusedDevice:
                guard !attempt.isVoid, let judgement = refusals.judge(attempt.refusal, after: suspicion) else {
                    return wait(.refusal, reason, hasWorked: hasWorked)
                }
                if judgement.isDead {
                    return PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
                }
                var decision = wait(.refusal, reason, hasWorked: hasWorked)
                if case .retry = decision.disposition, !routeFails {
                    let delay = BackOff.refusal.bound(afterFailures: judgement.suspicion.refusalCount)
                    decision.disposition = .retry(after: delay, isUnknown: false)
                }
                decision.token = .suspect(judgement.suspicion)
                if let suspicion { decision.judgement = .init(since: suspicion.since, hasWitness: judgement.hasWitness) }
                return decision
            case .tooLong, .refusedPush:
                var refused = refusals.judge(attempt.refusal, after: attempt.push.refusals, acceptedAt: attempt.push.acceptedAt)
                var decision: PushDecision
                switch refused.shortening {
                case .none where failure.kind == .tooLong && !attempt.push.push.message.isEmpty:
                    refused.shortening = .next
                    decision = PushDecision(disposition: .retry(after: .zero, isUnknown: false), reason: reason)
                case _ where refused.countedCount >= RefusalRules.requiredCount:
                    return PushDecision(disposition: .finish(.refused), reason: reason)
                case .next:
                    refused.shortening = .refused
                    fallthrough
                case .none, .refused:
                    decision = wait(.refusal, reason, hasWorked: hasWorked)
                }
                decision.refusals = refused
                if attempt.push.refusals.refusedAt != nil {
                    let hasWitness = refused.countedCount > attempt.push.refusals.countedCount
                    decision.judgement = .init(since: attempt.push.acceptedAt, hasWitness: hasWitness)
                }
                return decision
            }
        }
    }

    /// The reasons for which a push may wait because of the route. Quotas are excluded: they end by waiting.
    static let reasonsOfRoute: Set<PushReason> = Set(
        FailureTaxonomy.reasons(of: .transient, .credentials, .operatorFault, .topic, .refusedDevice, .refusedPush, .tooLong)
            + [
                .unknownText, .noResponseInTime, .noResponse, .wrongCount, .rejectedByGorush, .unprovenBundleID, .suspectedToken,
            ])
}

extension BackOff {
    /// Delays of a push that failed, or may have.
    static let push = BackOff(first: .seconds(2), longest: .seconds(300))
    /// Delays of refused pushes and devices. They are no load that jitter would spread: each device is refused at a time of its own.
    static let refusal = BackOff(first: .seconds(2), longest: .seconds(600), minimumShare: 1)
    /// Delays of a push that waits for an operator, or for a device that gets too many.
    static let patient = BackOff(first: .seconds(60), longest: .seconds(600))
    /// A longer delay of a push was set by a wrong clock.
    static let longestOfPush = patient.longest
}
