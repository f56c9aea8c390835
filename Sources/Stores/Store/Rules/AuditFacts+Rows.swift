import PushProtocol

extension AuditFacts {
    /// Adds messages that have the same state.
    ///
    /// - Parameters:
    ///   - state: The stored number.
    ///   - reason: The stored number of ``IgnoreReason``, or nil.
    package mutating func addMessages(state: Int64, reason: Int64?, isUndecided: Bool, count: Int64) {
        let state = MessageState(rawValue: state)
        if state == .recorded, isUndecided {
            undecidedCount += count
        } else if let state, !isUndecided,
            let milestone = try? Milestone(messageState: state, ignoreReason: reason.flatMap(IgnoreReason.init))
        {
            rowCounts[milestone, default: 0] += count
        } else {
            damagedRowCount += count
        }
    }

    /// Adds pushes that have the same state.
    ///
    /// - Parameter state: The stored number, from ``OpenPushState`` or ``PushOutcome``.
    package mutating func addPushes(state: Int64, isOpen: Bool, count: Int64) {
        if isOpen, OpenPushState(rawValue: state) != nil {
            openCount += count
        } else if !isOpen, let outcome = PushOutcome(rawValue: state) {
            rowCounts[outcome.milestone, default: 0] += count
        } else {
            damagedRowCount += count
        }
    }
}
