import Concurrency
import Envelope
import Store

/// What is written about a push after an attempt.
struct PushDecision: Sendable, Equatable {
    enum Ending: Sendable, Equatable {
        case finish(PushOutcome)
        case retry(after: Duration, isUnknown: Bool)
        /// As if there had been no attempt.
        case release
    }

    /// What is done to its device token.
    enum TokenAction: Sendable, Equatable {
        case none
        case unregister
        case suspect
        /// A push has arrived.
        case works
    }

    var ending: Ending
    var reason: String?
    var token = TokenAction.none
    var dropsCiphertext = false
}

/// Decides what follows from an attempt: when to try again, when a device is dead (GORUSH.md §6).
struct OutcomeRules: Sendable {
    /// An ambiguous verdict needs a second one that comes so much later: a wrong environment is noticed by then, and a gorush that mixes
    /// environments (GORUSH.md §0 fact 9) has been right in between.
    static let confirmationInterval = Duration.seconds(600)

    /// What never worked is tried so often. An honest device works at its first or second attempt; with the patient delays ten of them take
    /// about an hour, in which an operator has noticed that nothing works.
    static let maximumAttemptsOfUnproven = 10

    /// Verdicts on the route's devices are not to be believed now.
    var isSurge: Bool
    /// The wall clock's time.
    var now: Timestamp

    /// - Parameters:
    ///   - target: what was known of it before.
    ///   - attempts: made so far, this one included.
    ///   - suspectedAt: since when the token is suspected; asked for an outcome that ``DeliveryOutcome/isAmbiguous`` only.
    ///   - jitter: from 0 to 1, of the delay before the next attempt; asked for if there is one.
    func decide(
        _ outcome: DeliveryOutcome, on target: TargetHistory, attempts: Int, hasCiphertext: Bool, suspectedAt: Timestamp?,
        jitter: @autoclosure () -> Double
    ) -> PushDecision {
        func retry(_ backOff: BackOff, _ reason: String, isUnknown: Bool = false) -> PushDecision {
            let delay = backOff.delay(afterFailures: attempts, jitter: jitter())
            return PushDecision(ending: .retry(after: delay, isUnknown: isUnknown), reason: reason)
        }
        /// Waits for somebody to put something right, unless it is likely that nothing was ever right.
        func wait(_ reason: String, hasWorked: Bool) -> PushDecision {
            guard hasWorked || attempts < Self.maximumAttemptsOfUnproven else {
                return PushDecision(ending: .finish(.expired), reason: reason)
            }
            return retry(.patient, reason)
        }
        switch outcome {
        case .sent:
            return PushDecision(ending: .finish(.sent), token: .works)
        case .unknown(let reason):
            return retry(.push, reason, isUnknown: true)
        case .timedOut(let count) where count + 1 >= TimeOuts.maximumCount:
            // Asking again and again has never got an answer, but maybe a notification each time.
            return PushDecision(ending: .finish(.expired), reason: "no answer in time")
        case .timedOut:
            return retry(.push, "no answer in time", isUnknown: true)
        case .notSent(let reason):
            return PushDecision(ending: .release, reason: reason)
        case .refused(let reason):
            return isSurge ? wait(reason, hasWorked: target.tokenHasWorked) : PushDecision(ending: .finish(.refused), reason: reason)
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
                return PushDecision(ending: .retry(after: .zero, isUnknown: false), reason: reason, dropsCiphertext: true)
            case .wrongEnvironment where !target.topicHasWorked:
                // Nothing tells whether it is the device, or all of that bundle id.
                return wait(reason, hasWorked: false)
            case .deadToken where !isSurge, .wrongEnvironment where !isSurge && isConfirmed(suspectedAt):
                return PushDecision(ending: .finish(.deadToken), reason: reason, token: .unregister)
            case .wrongEnvironment where !isSurge:
                var decision = retry(target.tokenHasWorked ? .push : .patient, reason)
                decision.token = .suspect
                return decision
            case .tooLong where !isSurge, .ourFault where !isSurge:
                return PushDecision(ending: .finish(.refused), reason: reason)
            case .deadToken, .wrongEnvironment, .tooLong, .ourFault:
                // Whatever is final may be a mistake of ours or gorush's operator.
                return wait(reason, hasWorked: target.tokenHasWorked)
            }
        }
    }

    private func isConfirmed(_ suspectedAt: Timestamp?) -> Bool {
        suspectedAt.map { $0.advanced(by: Self.confirmationInterval) <= now } ?? false
    }
}

extension BackOff {
    /// Delays of a push that failed, or may have.
    static let push = BackOff(first: .seconds(2), longest: .seconds(300))
    /// Delays of a push that waits for somebody to put something right, or for a device that is told of too often.
    static let patient = BackOff(first: .seconds(60), longest: .seconds(600))
    /// A delay of a push that is longer was not made by these.
    static let longestOfPush = patient.longest
}
