import Store

/// A budget for attempts with bundle ids that Apple has never taken a push for, and that the configuration does not name: anybody can
/// invent as many as he likes, and each would cost a request.
///
/// Times are those of a monotonic clock, from its start.
struct UnprovenBundleIDBudget: Sendable {
    /// Attempts under way and refusals that are free. A new app has its first success with its first device that works, and needs none any
    /// more.
    static let burst = 20
    /// One more is free so often: 8,640 a day, whatever is invented.
    static let interval = Duration.seconds(10)
    /// What waits for a free one is looked at again within that time, at random.
    static let retryInterval = Duration.seconds(600)
    /// Why it waits. With the first push that is delivered to a new bundle id, all that wait are looked at.
    static let reason = "unproven bundle id"

    /// When all would be free again.
    private var fullAt = Duration.zero
    private var underWay: Set<Int64> = []

    /// Takes an attempt for a push.
    ///
    /// - Returns: false: none is free.
    mutating func take(_ push: QueuedPush, at now: Duration) -> Bool {
        let end = max(fullAt, now) + Self.interval
        guard end - now <= Self.interval * Self.burst else { return false }
        fullAt = end
        underWay.insert(push.id)
        return true
    }

    /// Gives an attempt back, unless it was one of this budget and was refused.
    mutating func ended(_ push: QueuedPush, isRefused: Bool) {
        if underWay.remove(push.id) != nil, !isRefused { fullAt -= Self.interval }
    }
}
