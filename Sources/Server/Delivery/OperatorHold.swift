import Store

/// An operator's hold of a route, during which nothing but calls is posted.
///
/// It ends at its time, when the operator resumes the route, or when the queue is three quarters full: what comes after that would soon be
/// refused, while its sender hears of success. Times are monotonic and count from the delivery's start.
struct OperatorHold: Sendable {
    /// How long an operator is told that a hold has ended early.
    static let tellingTime = Duration.seconds(3_600)

    private var current: (hold: RouteHold, end: Duration)?
    private var endedEarly: (hold: RouteHold, at: Duration)?

    /// Records what the database says.
    ///
    /// - Returns: Whether the hold is over, so that the database need not have it any more.
    mutating func read(_ hold: RouteHold?, until end: Duration, isQueueNearlyFull: Bool, at now: Duration) -> Bool {
        current = nil
        guard let hold else { return false }
        guard now < end, hold != endedEarly?.hold else { return true }
        endedEarly = isQueueNearlyFull ? (hold, now) : nil
        guard endedEarly == nil else { return true }
        current = (hold, end)
        return false
    }

    /// When the hold ends, or nil if there is none.
    func end(at now: Duration) -> Duration? { current.flatMap { now < $0.end ? $0.end : nil } }

    /// What an operator is told.
    func condition(of route: String, at now: Duration) -> RouteCondition? {
        if let current, now < current.end {
            return RouteCondition(
                kind: .held(current.hold), text: "held by an operator: \(current.hold), pushes wait, and calls do not")
        }
        guard let endedEarly, now < endedEarly.at + Self.tellingTime else { return nil }
        return RouteCondition(
            kind: .holdEnded(endedEarly.hold), text: "the hold of \(route) has ended early, because its queue is three quarters full")
    }
}
