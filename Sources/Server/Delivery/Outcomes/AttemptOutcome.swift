import Store

/// The outcome of one attempt to deliver a push.
enum AttemptOutcome: Sendable, Equatable {
    /// Apple or Google accepted the push.
    case sent
    /// gorush reported a failure.
    case failed(Failure)
    /// The push may have been sent.
    case unknown(reason: PushReason)
    /// The response did not come in time: the push may have been sent, or gorush still works on it.
    ///
    /// - `count`: The number of such attempts during which the route delivered other pushes, this one included.
    case timedOut(count: Int)
    /// The push was certainly not sent, for a reason that is not its own.
    case notSent(reason: PushReason)
}

extension AttemptOutcome {
    /// What Apple or Google said; nil if neither did.
    var words: String? { if case .failed(let failure) = self { failure.words } else { nil } }

    /// Whether the decision depends on earlier refusals of the device.
    var isDeviceRefusal: Bool {
        if case .failed(let failure) = self { failure.kind == .refusedDevice } else { false }
    }

    /// Whether the decision depends on what the route delivered meanwhile.
    var isRefusal: Bool {
        if case .failed(let failure) = self { [.refusedDevice, .refusedPush, .tooLong].contains(failure.kind) } else { false }
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
