/// A wall clock time in nanoseconds since 1970, as in Waku messages (PROTOCOL.md §4). Its range ends in 2262.
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

    // A clock that was ahead leaves times in the future, and what compares with them would stand still after it is right again. So each
    // time that is stored or remembered is either a past event's or a deadline.

    /// How far ahead a past event may lie: the clocks of servers on one database differ.
    package static let pastTolerance = Duration.seconds(600)

    /// The latest time that a past event can have.
    package var latestPast: Timestamp { advanced(by: Self.pastTolerance) }

    /// A past event's time, or nil if it lies in the future, so that it blocks nothing.
    package func ifPast(at now: Timestamp) -> Timestamp? { self <= now.latestPast ? self : nil }

    /// Whether a deadline is over, as is one that is further away than any was when it was set.
    ///
    /// - Parameter length: The greatest length that such a deadline has.
    package func isOver(at now: Timestamp, length: Duration) -> Bool { self <= now || self > now.advanced(by: length).latestPast }

    /// Returns the duration until another time, negative if that is earlier. Saturates instead of overflowing.
    package func duration(to later: Timestamp) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (later > self ? .max : .min) : difference)
    }
}
