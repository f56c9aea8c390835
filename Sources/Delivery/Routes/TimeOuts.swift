import Store

/// How often pushes were not answered in time. gorush goes on with what its caller has given up, so that each attempt more can be a
/// notification more (GORUSH.md §0 fact 6).
struct TimeOuts: Sendable {
    /// Attempts that may end so; the last one waits longer than Apple, Google and gorush ever take together.
    static let maximumCount = 3
    /// Longer than gorush needs for any push (GORUSH.md §2.5).
    static let longest = Duration.seconds(150)

    /// By the push's row, until it is answered.
    private var counts: [Int64: Int] = [:]

    subscript(push: QueuedPush) -> Int { counts[push.id] ?? 0 }

    /// How long an answer about these is waited for: twice as long for each time that one was not answered.
    ///
    /// - Parameter first: at the first attempt; also the longest, if that is shorter.
    func limit(for pushes: some Sequence<QueuedPush>, first: Duration) -> Duration {
        let count = pushes.reduce(0) { max($0, self[$1]) }
        return min(first * (1 << min(count, Self.maximumCount)), max(first, Self.longest))
    }

    mutating func record(_ outcomes: some Sequence<(QueuedPush, DeliveryOutcome)>) {
        for (push, outcome) in outcomes {
            if case .timedOut = outcome { counts[push.id, default: 0] += 1 } else { counts[push.id] = nil }
            if self[push] >= Self.maximumCount { counts[push.id] = nil }
        }
    }
}
