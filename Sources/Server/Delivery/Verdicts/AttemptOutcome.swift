import Store

/// The outcome of one attempt to deliver a push, by what waits afterwards (DELIVERY_RULES.md).
enum AttemptOutcome: Sendable, Equatable {
    /// Apple or Google accepted the push.
    case sent
    /// gorush reported a failure.
    case failed(Failure)
    /// A proxy in front of gorush did not pass the push on, although gorush is there. Device and push wait.
    case passing(reason: PushReason, retryAfter: Duration?)
    /// The push may have been sent. Device and push wait, the push for longer.
    case unknown(reason: PushReason)
    /// The connection broke after the request: the push may have been sent. Device and push wait, the push for longer if that repeats.
    case broken
    /// The push was certainly not sent, for a reason that is gorush's or this server's. The route waits.
    case notSent(reason: PushReason)
}

extension AttemptOutcome {
    /// What Apple or Google said, or nil if neither did.
    var words: String? { if case .failed(let failure) = self { failure.words } else { nil } }

    /// The words of Apple or Google, or else the reason.
    var wordsForOperator: String {
        switch self {
        case .sent: ""
        case .failed(let failure): failure.words
        case .passing(let reason, _), .unknown(let reason), .notSent(let reason): reason.rawValue
        case .broken: PushReason.noResponse.rawValue
        }
    }

    var isNotSent: Bool { if case .notSent = self { true } else { false } }

    /// Whether the decision depends on earlier refusals of the device.
    var isDeviceRefusal: Bool {
        if case .failed(let failure) = self { failure.kind == .refusedDevice } else { false }
    }

    /// Whether the decision depends on what the route delivered meanwhile.
    var isRefusal: Bool {
        if case .failed(let failure) = self { [.refusedDevice, .refusedPush, .tooLong].contains(failure.kind) } else { false }
    }

    /// Whether the words are about the push.
    var isPushRefusal: Bool {
        if case .failed(let failure) = self { [.refusedPush, .tooLong].contains(failure.kind) } else { false }
    }

    /// Whether the device, its bundle id or the push was rejected, which spends the budget for unproven bundle ids.
    var isRejection: Bool {
        if case .failed(let failure) = self {
            [.deadToken, .refusedDevice, .topic, .refusedPush].contains(failure.kind)
        } else {
            false
        }
    }
}
