/// Counts an event that repeats, for a single log line a minute. Times are monotonic.
package struct LogThrottle: Sendable {
    /// The minimum interval between two reports: an operator sees that something goes on, and the log stays readable.
    package static let interval = Duration.seconds(60)

    private var count = 0
    private var lastReport: Duration?

    package init() {}

    /// Adds events.
    ///
    /// - Returns: The number of events since the last report if a report is due, else nil.
    package mutating func add(_ newCount: Int, at now: Duration) -> Int? {
        count += newCount
        guard count > 0, lastReport.map({ now - $0 >= Self.interval }) ?? true else { return nil }
        lastReport = now
        defer { count = 0 }
        return count
    }
}
