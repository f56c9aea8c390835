/// The outcome of one attempt to deliver a push.
enum AttemptOutcome: Sendable, Equatable {
    /// Apple or Google accepted the push.
    case sent
    /// gorush reported a failure.
    case failed(Failure)
    /// gorush rejects the push permanently.
    case refused(reason: String)
    /// The push may have been sent.
    case unknown(reason: String)
    /// The response did not come in time: the push may have been sent, or gorush still works on it.
    ///
    /// - `count`: The number of such attempts during which the route delivered other pushes, this one included.
    case timedOut(count: Int)
    /// The push was certainly not sent, for a reason that is not its own.
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
