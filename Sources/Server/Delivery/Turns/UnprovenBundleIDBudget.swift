import Store

/// A budget for attempts with unproven bundle ids that are not in the configuration. Anyone can invent them, and each costs a request.
///
/// Times are monotonic and count from the delivery's start.
struct UnprovenBundleIDBudget: Sendable {
    /// Counts attempts in flight or refused. A new app is exempt after the first delivery to any of its devices.
    static let burst = 20
    /// Allows 8,640 further attempts a day for all invented bundle ids together.
    static let interval = Duration.seconds(10)
    /// Deferred pushes are retried after a random delay of up to this time.
    static let retryInterval = Duration.seconds(600)

    /// The time at which the budget is full again.
    private var fullAt = Duration.zero
    private var inFlight: Set<Int64> = []

    /// Spends an attempt for a push.
    ///
    /// - Returns: Whether the budget allows it.
    mutating func take(_ push: QueuedPush, at now: Duration) -> Bool {
        let end = max(fullAt, now) + Self.interval
        guard end - now <= Self.interval * Self.burst else { return false }
        fullAt = end
        inFlight.insert(push.id)
        return true
    }

    /// Returns an attempt to the budget, unless it was refused.
    mutating func ended(_ push: QueuedPush, isRefused: Bool) {
        if inFlight.remove(push.id) != nil, !isRefused { fullAt -= Self.interval }
    }
}
