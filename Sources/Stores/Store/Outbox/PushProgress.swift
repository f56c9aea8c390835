/// How far a push's delivery has got, for operators, without its device.
package struct PushProgress: Sendable, Hashable {
    /// The number of attempts, including an attempt in flight.
    package var attemptCount: Int
    /// The reason why the newest attempt failed or the push finished, or nil while no attempt has failed.
    package var reason: String?
    /// What Apple or Google said to the newest attempt that failed, or nil if neither did.
    package var words: String?
    /// The outcome, or nil while the push is open.
    package var outcome: PushOutcome?

    package init(attemptCount: Int, reason: String?, words: String?, outcome: PushOutcome?) {
        self.attemptCount = attemptCount
        self.reason = reason
        self.words = words
        self.outcome = outcome
    }
}
