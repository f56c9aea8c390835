import Envelope
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
        case suspect
        /// A push has arrived.
        case works
    }

    var disposition: Disposition
    var reason: String?
    var token = TokenAction.none
    var dropsCiphertext = false
}

/// The stored facts about the target of a push. Anyone can register a device token or bundle id that never existed.
struct TargetHistory: Sendable, Equatable {
    /// "" for Android.
    var topic: String
    /// Whether Apple or Google has accepted a push for that token and bundle id before.
    var tokenHasWorked: Bool
    /// Whether a push of the route was delivered to that bundle id before.
    var topicHasWorked: Bool
    /// The time of the first ambiguous verdict on the token; nil if none exists.
    var suspectedAt: Timestamp?
}

/// Decides what follows from an attempt: when to try again, and when a device is dead (DELIVERY.md, rules 3 and 4).
struct OutcomeRules: Sendable {
    /// 10 min between two verdicts on a device, and between two attempts at a suspected one. A gorush that mixes environments
    /// (GORUSH.md §0 fact 9) has delivered to it in between.
    static let confirmationInterval = Duration.seconds(600)

    /// 150 s between two attempts of a push while the route fails, or after one that gorush may still be working on.
    static let outageInterval = Duration.seconds(150)

    /// 10 attempts for targets and bundle ids that never worked. An honest device works at its first or second attempt, and ten take
    /// about an hour, in which an operator has noticed that nothing works.
    static let maximumAttemptsOfUnproven = 10

    /// Whether Apple or Google delivers nothing through the route.
    var routeFails = false
    /// Whether ambiguous verdicts may be believed now.
    var believesVerdicts = true
    var witnesses = Witnesses()

    /// - Parameters:
    ///   - attempts: The number of attempts, this one included.
    ///   - now: The time of the wall clock.
    ///   - jitter: From 0 to 1, for the delay before the next attempt.
    func decide(
        _ outcome: AttemptOutcome, on target: TargetHistory, attempts: Int, hasCiphertext: Bool, at now: Timestamp,
        jitter: @autoclosure () -> Double
    ) -> PushDecision {
        func retry(_ backOff: BackOff, _ reason: String, isUnknown: Bool = false, atLeast minimum: Duration = .zero) -> PushDecision {
            let delay = backOff.delay(afterFailures: attempts, jitter: jitter())
            return PushDecision(
                disposition: .retry(after: max(delay, minimum, routeFails ? Self.outageInterval : .zero), isUnknown: isUnknown),
                reason: reason)
        }
        /// Waits for an operator, unless it is likely that the target never worked.
        func wait(_ reason: String, hasWorked: Bool) -> PushDecision {
            guard hasWorked || attempts < Self.maximumAttemptsOfUnproven else {
                return PushDecision(disposition: .finish(.expired), reason: reason)
            }
            return retry(.patient, reason)
        }
        switch outcome {
        case .sent:
            return PushDecision(disposition: .finish(.sent), token: .works)
        case .unknown(let reason):
            return retry(.push, reason, isUnknown: true)
        case .timedOut(let count) where count >= TimeoutPolicy.maximumCount:
            return PushDecision(disposition: .finish(.expired), reason: Self.timeOutReason)
        case .timedOut:
            return retry(.push, Self.timeOutReason, isUnknown: true, atLeast: Self.outageInterval)
        case .notSent(let reason):
            return PushDecision(disposition: .releaseLease, reason: reason)
        case .refused(let reason):
            return routeFails
                ? wait(reason, hasWorked: target.tokenHasWorked) : PushDecision(disposition: .finish(.refused), reason: reason)
        case .failed(let failure):
            let reason = failure.reason
            switch failure.kind {
            case .transient:
                return retry(reason == "TooManyRequests" ? .patient : .push, reason)
            case .credentials, .operatorFault:
                return retry(.patient, reason)
            case .topic:
                return wait(reason, hasWorked: target.topicHasWorked)
            case .tooLong where hasCiphertext:
                return PushDecision(disposition: .retry(after: .zero, isUnknown: false), reason: reason, dropsCiphertext: true)
            case .deadToken:
                return PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
            case .ambiguous where isConfirmed(target, at: now):
                return PushDecision(disposition: .finish(.deadToken), reason: reason, token: .unregister)
            case .ambiguous:
                var decision = wait(reason, hasWorked: target.tokenHasWorked)
                if believesVerdicts {
                    decision.token = .suspect
                    if case .retry = decision.disposition {
                        decision.disposition = .retry(after: Self.confirmationInterval, isUnknown: false)
                    }
                }
                return decision
            case .tooLong, .ourFault:
                // A fault of the route can make every push invalid.
                return routeFails
                    ? wait(reason, hasWorked: target.tokenHasWorked) : PushDecision(disposition: .finish(.refused), reason: reason)
            }
        }
    }

    private static let timeOutReason = "no response in time"

    /// The reasons for which a push may wait because of the route. TooManyRequests is excluded, because it concerns one device.
    /// Suspected targets wait in any case (``BatchPlanner``).
    static let reasonsOfRoute: Set<String> = Set(
        FailureTaxonomy.reasons(of: .transient, .credentials, .operatorFault, .topic, .ambiguous)
            + [Failure.unknownText.reason, timeOutReason, "no response", "wrong count", UnprovenBundleIDBudget.reason]
    ).subtracting(["TooManyRequests"])

    private func isConfirmed(_ target: TargetHistory, at now: Timestamp) -> Bool {
        guard believesVerdicts, let suspectedAt = target.suspectedAt else { return false }
        return suspectedAt.advanced(by: Self.confirmationInterval) <= now && witnesses.confirm(topic: target.topic, since: suspectedAt)
    }
}

extension BackOff {
    /// Delays of a push that failed, or may have.
    static let push = BackOff(first: .seconds(2), longest: .seconds(300))
    /// Delays of a push that waits for an operator, or for a device that gets too many.
    static let patient = BackOff(first: .seconds(60), longest: .seconds(600))
    /// A longer delay of a push was set by a wrong clock.
    static let longestOfPush = patient.longest
}
