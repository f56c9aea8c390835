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
        case bury
        case suspect
        case clearSuspicion
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

    /// Verdicts on the route's devices are not to be believed now.
    var isWave: Bool
    /// Whether a success is one of Apple's or Google's, not just of gorush's queue.
    var successIsProof: Bool
    /// Of the wall clock.
    var now: Timestamp

    /// - Parameters:
    ///   - attempts: made so far, this one included.
    ///   - suspectedAt: since when the token is suspected.
    func decide(
        _ fate: PushFate, attempts: Int, hasCiphertext: Bool, suspectedAt: Timestamp?, using random: inout some RandomNumberGenerator
    ) -> PushDecision {
        switch fate {
        case .sent:
            let token: PushDecision.TokenAction = successIsProof && suspectedAt != nil ? .clearSuspicion : .none
            return PushDecision(ending: .finish(.sent), token: token)
        case .refused(let reason):
            return isWave ? retry(.patient, attempts, reason, &random) : PushDecision(ending: .finish(.refused), reason: reason)
        case .unknown(let reason):
            return retry(.push, attempts, reason, isUnknown: true, &random)
        case .notSent(let reason):
            return PushDecision(ending: .release, reason: reason)
        case .failed(let failure):
            return decide(
                failure, attempts: attempts, hasCiphertext: hasCiphertext, suspectedAt: suspectedAt, using: &random)
        }
    }

    private func decide(
        _ failure: Failure, attempts: Int, hasCiphertext: Bool, suspectedAt: Timestamp?, using random: inout some RandomNumberGenerator
    ) -> PushDecision {
        let reason = failure.reason
        switch failure.kind {
        case .transient:
            return retry(reason == "TooManyRequests" ? .patient : .push, attempts, reason, &random)
        case .operatorFault:
            return retry(.patient, attempts, reason, &random)
        case .tooLong where hasCiphertext:
            return PushDecision(ending: .retry(after: .zero, isUnknown: false), reason: reason, dropsCiphertext: true)
        case .deadToken, .wrongEnvironment, .tooLong, .ourFault:
            // Whatever is final may be a mistake of ours or gorush's operator.
            guard !isWave else { return retry(.patient, attempts, reason, &random) }
        }
        switch failure.kind {
        case .deadToken:
            return PushDecision(ending: .finish(.deadToken), reason: reason, token: .bury)
        case .wrongEnvironment:
            if let suspectedAt, suspectedAt.advanced(by: Self.confirmationInterval) <= now {
                return PushDecision(ending: .finish(.deadToken), reason: reason, token: .bury)
            }
            var decision = retry(.push, attempts, reason, &random)
            decision.token = .suspect
            return decision
        default:
            return PushDecision(ending: .finish(.refused), reason: reason)
        }
    }

    private func retry(
        _ backOff: BackOff, _ attempts: Int, _ reason: String, isUnknown: Bool = false, _ random: inout some RandomNumberGenerator
    ) -> PushDecision {
        PushDecision(ending: .retry(after: backOff.delay(afterFailures: attempts, using: &random), isUnknown: isUnknown), reason: reason)
    }
}

extension PushFate {
    /// Whether it counts among those that make a wave.
    var turnsDown: Bool {
        switch self {
        case .refused: true
        case .failed(let failure):
            switch failure.kind {
            case .deadToken, .wrongEnvironment, .ourFault: true
            case .transient, .operatorFault, .tooLong: false
            }
        case .sent, .unknown, .notSent: false
        }
    }

    /// Whether somebody has judged the push at all.
    var isVerdict: Bool {
        switch self {
        case .sent, .refused, .failed: true
        case .unknown, .notSent: false
        }
    }
}
