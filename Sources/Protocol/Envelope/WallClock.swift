import Platform

/// The wall clock, passed in so that tests can set it. Delays use an `any Clock<Duration>` instead.
package struct WallClock: Sendable {
    /// Reads the clock, with what a server doubts about it.
    package let read: @Sendable () -> ClockReading

    package init(now: @escaping @Sendable () -> Timestamp) {
        read = { ClockReading(now: now()) }
    }

    package init(read: @escaping @Sendable () -> ClockReading) {
        self.read = read
    }

    package func now() -> Timestamp { read().now }
}

extension WallClock {
    /// The system's clock, as set by NTP.
    package static let system = WallClock {
        var time = timespec()
        // The call fails only for an unknown clock.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}

/// What the wall clock shows at a moment, and what it would show without a step that it has just made.
///
/// Nobody can tell at once whether a step is a mistake or corrects one. While both times stand, nothing irrevocable happens: nothing
/// expires, is unregistered, pruned or deleted, and what is too old by one of them waits.
package struct ClockReading: Hashable, Sendable {
    /// What the clock shows. It is the time for all that is sent.
    package var now: Timestamp
    /// What the clock would show without the step, or nil if it made none.
    package var expected: Timestamp?
    /// What the clock would show without a step ahead that counts, for as long as rows from before it live.
    package var beforeStep: Timestamp?

    package init(now: Timestamp, expected: Timestamp? = nil, beforeStep: Timestamp? = nil) {
        self.now = now
        self.expected = expected
        self.beforeStep = beforeStep
    }

    /// Whether nothing irrevocable may happen.
    package var isHeld: Bool { expected != nil }

    /// The time for the stamps of rows: the later one of both, by which what arrives now is too old by neither. A stamp in the future has
    /// no age yet.
    package var stamp: Timestamp { max(now, expected ?? now) }

    /// The time for the deletion of old rows: the earlier one of both, because rows that are gone do not come back with the clock.
    package var pruning: Timestamp { min(now, beforeStep ?? now) }

    /// Judges the age of what began at a time.
    package func age(since start: Timestamp, lifetime: Duration) -> ClockAge {
        guard start.advanced(by: lifetime) <= stamp else { return .young }
        return isHeld ? .doubtful : .over
    }
}

/// The age of something with a lifetime.
package enum ClockAge: Sendable {
    case young
    /// Too old by a time that is in doubt: it waits, neither used nor dropped.
    case doubtful
    case over
}
