import Store

/// The attempts without a response in time. gorush continues with a request whose caller has timed out, so each further attempt can be
/// another notification (GORUSH.md §0 fact 6).
struct TimeoutPolicy: Sendable {
    /// After so many attempts without a response while others were delivered, the push is at fault and not the route.
    static let maximumCount = 3
    /// Longer than gorush needs for any push (GORUSH.md §2.5).
    static let longest = Duration.seconds(150)

    private struct Count {
        /// All attempts without a response.
        var all = 0
        /// The attempts during which the route delivered another push.
        var counted = 0
    }

    /// The counts by the push's row, until an attempt has a response.
    private var counts: [Int64: Count] = [:]

    /// The number of attempts without a response that count.
    subscript(push: QueuedPush) -> Int { counts[push.id]?.counted ?? 0 }

    /// Returns the next attempt's timeout, doubled for each attempt without a response.
    ///
    /// - Parameter first: The time at the first attempt. Also the longest, if that is shorter.
    func limit(for pushes: some Sequence<QueuedPush>, first: Duration) -> Duration {
        let count = pushes.reduce(0) { max($0, counts[$1.id]?.all ?? 0) }
        return min(first * (1 << min(count, Self.maximumCount)), max(first, Self.longest))
    }

    mutating func record(_ attempt: PushAttempt) {
        guard case .timedOut(let count) = attempt.outcome, count < Self.maximumCount else {
            if !counts.isEmpty { counts[attempt.push.id] = nil }
            return
        }
        counts[attempt.push.id, default: Count()].all += 1
        counts[attempt.push.id]?.counted = count
    }
}
