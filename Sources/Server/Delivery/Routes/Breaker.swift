import Tasks

/// A route's circuit breaker. While the route fails, it permits single requests, at growing intervals.
///
/// Times are monotonic and count from the delivery's start.
struct Breaker: Sendable, Equatable {
    enum State: Sendable, Equatable {
        /// All requests are permitted.
        case closed
        /// No request is permitted before that time. Then a single request is.
        case open(until: Duration, failures: Int)
        /// A single request is in flight and decides.
        case trial(failures: Int)
    }

    private(set) var state = State.closed

    /// When the next request is permitted, or nil while a trial is in flight.
    var nextAttempt: Duration? {
        switch state {
        case .closed: .zero
        case .open(let until, _): until
        case .trial: nil
        }
    }

    /// Returns the number of requests permitted now. The caller calls ``begin()`` for each.
    func permits(at now: Duration) -> Int {
        guard let nextAttempt, nextAttempt <= now else { return 0 }
        return state == .closed ? .max : 1
    }

    /// Records a request. After a failure, this request is the trial.
    mutating func begin() {
        if case .open(_, let failures) = state { state = .trial(failures: failures) }
    }

    /// Records that gorush works: it accepted a request, or reported its limit for a batch.
    mutating func succeed() {
        // The request was posted before the failure. The trial decides.
        if case .open = state { return }
        state = .closed
    }

    /// Closes an open breaker, because a probe has shown that the route works. A trial in flight still decides.
    mutating func reset() {
        if case .open = state { state = .closed }
    }

    /// Records a request that gorush did not accept. If several requests fail together, only the first counts.
    ///
    /// - Parameters:
    ///   - retryAfter: The delay that gorush asked for.
    ///   - jitter: From 0 to 1, for the delay. 0 turns jitter off.
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
    /// A route's delays. They end at 4 s, because gorush's return must be noticed within 5 s, and a failed attempt costs little.
    static let route = BackOff(first: .milliseconds(500), longest: .seconds(4))
}
