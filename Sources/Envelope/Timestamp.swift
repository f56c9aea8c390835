import Glibc

/// A moment of the wall clock: nanoseconds since 1970, as Waku messages count (PROTOCOL.md §4). Holds until the year 2262.
package struct Timestamp: Hashable, Comparable, Sendable {
    package var nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func < (left: Timestamp, right: Timestamp) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Saturates instead of overflowing: a peer may send any Int64.
    package func advanced(by duration: Duration) -> Timestamp {
        let (seconds, attoseconds) = duration.components
        let (scaled, scaleOverflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (offset, offsetOverflow) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000)
        let (sum, sumOverflow) = nanoseconds.addingReportingOverflow(offset)
        guard !scaleOverflow, !offsetOverflow, !sumOverflow else {
            return Timestamp(nanoseconds: duration < .zero ? .min : .max)
        }
        return Timestamp(nanoseconds: sum)
    }

    /// The time until another moment, negative if it is earlier. Saturates instead of overflowing.
    package func duration(to later: Timestamp) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (later > self ? .max : .min) : difference)
    }
}

/// The wall clock, passed in so that tests can set it. Delays are another matter: they go by an `any Clock<Duration>`.
package struct WallClock: Sendable {
    package let now: @Sendable () -> Timestamp

    package init(now: @escaping @Sendable () -> Timestamp) { self.now = now }
}

extension WallClock {
    /// The system's, as set by NTP.
    package static let system = WallClock {
        var time = timespec()
        // Fails for an unknown clock only.
        _ = unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }
}
