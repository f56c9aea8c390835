/// What became of one push by one attempt.
enum DeliveryOutcome: Sendable, Equatable {
    /// gorush took it; in sync mode Apple or Google did.
    case sent
    /// gorush says that it failed, and why.
    case failed(Failure)
    /// gorush refuses to take it, whenever.
    case refused(reason: String)
    /// It may have been sent.
    case unknown(reason: String)
    /// It may have been sent, or is still being sent: there was no answer in time, as so often before.
    case timedOut(before: Int)
    /// It was certainly not sent, for a reason that has nothing to do with it.
    case notSent(reason: String)
}

/// What is known of the place a push goes to. Anybody can register a token or a bundle id that never existed.
struct TargetHistory: Sendable, Equatable {
    /// Apple or Google has taken a push for that token and bundle id before.
    var tokenHasWorked: Bool
    /// Apple or Google has taken a push of that route for that bundle id before.
    var topicHasWorked: Bool
}

extension DeliveryOutcome {
    /// Whether what follows depends on what was said of the token before.
    var isAmbiguous: Bool {
        if case .failed(let failure) = self { failure.kind == .wrongEnvironment } else { false }
    }

    /// Whether it counts among those that make a surge.
    var turnsDown: Bool {
        switch self {
        case .refused: true
        case .failed(let failure):
            switch failure.kind {
            case .deadToken, .wrongEnvironment, .ourFault: true
            case .transient, .credentials, .topic, .operatorFault, .tooLong: false
            }
        case .sent, .unknown, .timedOut, .notSent: false
        }
    }

    /// Whether the device or its bundle id was refused.
    var isRefusal: Bool {
        if case .failed(let failure) = self, failure.kind == .topic { true } else { turnsDown }
    }

    /// Whether somebody has judged the push at all.
    var isVerdict: Bool {
        switch self {
        case .sent, .refused, .failed: true
        case .unknown, .timedOut, .notSent: false
        }
    }
}
