import Store

extension PushDecision {
    /// The same for a push that is tried once: whoever asked for it hears how that went, so it ends in any case.
    ///
    /// - Parameter isSurge: verdicts on the route's devices are not to be believed now.
    func ofOnlyAttempt(_ outcome: DeliveryOutcome, isSurge: Bool) -> PushDecision {
        guard !isFinal else { return self }
        var decision = self
        // Nobody asks again, so the first verdict counts.
        let isDead = if case .failed(let failure) = outcome { failure.reason == "BadDeviceToken" && !isSurge } else { false }
        decision.ending = .finish(isDead ? .deadToken : .withdrawn)
        decision.dropsCiphertext = false
        return decision
    }

    private var isFinal: Bool { if case .finish = ending { true } else { false } }
}
