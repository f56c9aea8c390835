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

    /// Returns the duration until another time, negative if that is earlier. Saturates instead of overflowing.
    package func duration(to later: Timestamp) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(nanoseconds)
        return .nanoseconds(overflow ? (later > self ? .max : .min) : difference)
    }
}
