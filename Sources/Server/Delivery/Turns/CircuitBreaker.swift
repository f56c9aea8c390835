/// A route's circuit breaker, for gorush alone: three attempts in a row that gorush did not take pause the route.
///
/// While it is paused, each second another push is the trial. An answer ends the pause, and so does a trial that gorush has taken and not
/// answered for a while: it is there, and waits for Apple or Google. Times are monotonic and count from the delivery's start.
struct CircuitBreaker: Sendable, Equatable {
    /// A single refused connection may be a moment of a restart.
    static let requiredCount = 3
    static let trialInterval = Duration.seconds(1)

    /// How many attempts in a row gorush has not taken.
    private(set) var refusedCount = 0
    /// Since when the route is paused, or nil if it isn't.
    private(set) var pausedSince: Duration?
    private var nextTrial = Duration.zero
    /// The attempt that was posted last, while it is in flight.
    private var lastAttempt: (number: Int, postedAt: Duration)?

    static func == (left: Self, right: Self) -> Bool {
        left.refusedCount == right.refusedCount && left.pausedSince == right.pausedSince && left.nextTrial == right.nextTrial
            && left.lastAttempt?.number == right.lastAttempt?.number
    }

    mutating func posted(_ attempt: Int, at now: Duration) { lastAttempt = (attempt, now) }

    /// Records that an attempt has ended, in whatever way.
    mutating func ended(_ attempt: Int) { if lastAttempt?.number == attempt { lastAttempt = nil } }

    /// Records an answer that shows that gorush is there.
    mutating func answered() { (refusedCount, pausedSince) = (0, nil) }

    /// Records that gorush has not taken an attempt.
    mutating func refused(at now: Duration) {
        refusedCount += 1
        if refusedCount >= Self.requiredCount { pausedSince = pausedSince ?? now }
        nextTrial = now + Self.trialInterval
    }

    enum Permission: Sendable, Equatable {
        case all
        /// One attempt.
        case trial
        /// Nothing before that time.
        case wait(until: Duration)
    }

    func permission(at now: Duration) -> Permission {
        guard let pausedSince else { return .all }
        if let lastAttempt {
            let end = lastAttempt.postedAt + Bulkhead.slowDuration
            if now < end { return .wait(until: end) }
            if lastAttempt.postedAt >= pausedSince { return .all }
        }
        return now < nextTrial ? .wait(until: nextTrial) : .trial
    }
}
