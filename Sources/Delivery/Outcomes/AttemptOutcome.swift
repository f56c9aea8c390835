/// How one attempt to deliver a push ended.
enum AttemptOutcome: Sendable, Equatable {
    /// Apple or Google accepted it.
    case sent
    /// gorush says that it failed, and why.
    case failed(Failure)
    /// gorush rejects it permanently.
    case refused(reason: String)
    /// It may have been sent.
    case unknown(reason: String)
    /// It may have been sent, or gorush still works on it: there was no response in time.
    ///
    /// - `count`: The number of such attempts during which the route delivered other pushes, this one included.
    case timedOut(count: Int)
    /// It was certainly not sent, for a reason that has nothing to do with it.
    case notSent(reason: String)
}

extension AttemptOutcome {
    /// Whether the decision depends on earlier verdicts on the token.
    var isAmbiguous: Bool {
        if case .failed(let failure) = self { failure.kind == .ambiguous } else { false }
    }

    /// Whether the device, its bundle id or the push was rejected.
    var isRefusal: Bool {
        switch self {
        case .refused: true
        case .failed(let failure):
            switch failure.kind {
            case .deadToken, .ambiguous, .topic, .ourFault: true
            case .transient, .credentials, .operatorFault, .tooLong: false
            }
        case .sent, .unknown, .timedOut, .notSent: false
        }
    }
}
