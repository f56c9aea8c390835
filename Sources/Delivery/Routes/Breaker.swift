import Concurrency

/// Keeps a route that does not work from being tried by every push: one attempt at a time, at growing intervals.
///
/// Times are those of a monotonic clock, from its start.
struct Breaker: Sendable, Equatable {
    enum State: Sendable, Equatable {
        /// All may go.
        case closed
        /// None may go before that time; then one.
        case open(until: Duration, failures: Int)
        /// One goes, and decides.
        case trial(failures: Int)
    }

    private(set) var state = State.closed

    /// When an attempt may be made; nil when the trial under way has to end first.
    var nextAttempt: Duration? {
        switch state {
        case .closed: .zero
        case .open(let until, _): until
        case .trial: nil
        }
    }

    /// How many requests may go out now; to be followed by ``begin()`` for each.
    func permits(at now: Duration) -> Int {
        guard let nextAttempt, nextAttempt <= now else { return 0 }
        return state == .closed ? .max : 1
    }

    /// A request goes out. If the route has just failed, this one decides.
    mutating func begin() {
        if case .open(_, let failures) = state { state = .trial(failures: failures) }
    }

    /// The route took a request.
    mutating func succeed() {
        // The answer to a request that went out before the failure: the trial will show.
        if case .open = state { return }
        state = .closed
    }

    /// The route is known to work, and nobody is under way or waits to find that out.
    mutating func reset() {
        if case .open = state { state = .closed }
    }

    /// The route did not take a request. Of many that fail together one counts.
    ///
    /// - Parameters:
    ///   - retryAfter: The delay that gorush asked for.
    ///   - jitter: From 0 to 1, for the delay; 0 for none.
    ///   - isCounted: Whether the next delays grow.
    mutating func fail(at now: Duration, retryAfter: Duration?, jitter: Double, isCounted: Bool = true) {
        let earliest = now + (retryAfter ?? .zero)
        var failures = 1
        switch state {
        case .closed: break
        case .trial(let earlier): failures = earlier + (isCounted ? 1 : 0)
        case .open(let until, let earlier):
            state = .open(until: max(until, earliest), failures: earlier)
            return
        }
        state = .open(until: max(earliest, now + BackOff.route.delay(afterFailures: failures, jitter: jitter)), failures: failures)
    }
}

extension BackOff {
    /// A route's delays. Short: gorush's return is to be noticed within 5 seconds, and an attempt that finds nobody costs little.
    static let route = BackOff(first: .milliseconds(500), longest: .seconds(4))
}
