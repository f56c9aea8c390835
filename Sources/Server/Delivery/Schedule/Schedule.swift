import Store

/// The times at which a route reads its queues, expires pushes and probes gorush.
///
/// Times are monotonic and count from the delivery's start.
struct Schedule: Sendable {
    /// Between two reads of the queues, and between two searches for expired pushes.
    static let longestPause = Duration.seconds(30)
    /// Attempts that end accumulate in this time while gorush's workers are all in use, because each read costs a commit.
    static let gatheringTime = Duration.milliseconds(5)
    /// Between attempts to use a database that fails.
    static let storeRetryInterval = Duration.seconds(1)
    /// Between two probes of a gorush that works. If gorush restarts while the route is idle, only a probe notices it.
    static let probeInterval = Duration.seconds(30)
    /// Between two probes of a gorush that cannot be used.
    static let searchInterval = CircuitBreaker.trialInterval

    private(set) var isStopping = false
    /// The queues that may have pushes which were not read.
    private var unread = Set(PushTrust.allCases)
    /// When the queues are read again: when a push becomes due that waits for its time, or else after a while.
    private var nextDue: Duration?
    /// When all workers were last in use.
    private var fullAt: Duration?
    private var nextExpiry = Duration.zero
    private var storeRetry = Duration.zero
    /// When the next probe is due, or nil while a probe is in progress.
    private var nextProbe: Duration? = .zero
    /// When the wait that was last decided ends, or nil if there was something to do.
    private(set) var waitEnd: Duration?
    /// Whether the last action was to read the queues.
    private(set) var hasJustRead = false

    // MARK: Events

    mutating func stop() { isStopping = true }

    /// Records that the queues may have new pushes.
    mutating func wake() { unread = Set(PushTrust.allCases) }

    /// Records that queues are being read. A push that comes meanwhile makes them unread again.
    mutating func read(_ queues: some Sequence<PushTrust>) {
        unread.subtract(queues)
        nextDue = nil
    }

    /// Records that these queues were not read to their ends, and when the next push that waits for its time becomes due, or nil if none
    /// does.
    mutating func hasRead(leaving queues: Set<PushTrust>, next: Duration?, at now: Duration) {
        unread.formUnion(queues)
        nextDue = min(next ?? .seconds(Int64.max), now + Self.longestPause)
    }

    /// Records whether all workers are in use.
    mutating func posted(isFull: Bool, at now: Duration) { fullAt = isFull ? now : nil }

    mutating func storeFailed(at now: Duration) {
        storeRetry = now + Self.storeRetryInterval
        nextExpiry = .zero
        wake()
    }

    /// Probes gorush at that time at the latest.
    mutating func probe(by time: Duration) { nextProbe = nextProbe.map { min($0, time) } }

    /// Records that a probe has ended.
    mutating func probed(isFine: Bool, at now: Duration) { nextProbe = now + (isFine ? Self.probeInterval : Self.searchInterval) }

    // MARK: Decisions

    var isProbing: Bool { nextProbe == nil }

    mutating func mustProbe(at now: Duration) -> Bool {
        guard let time = nextProbe, time <= now else { return false }
        nextProbe = nil
        return true
    }

    /// Returns the time at which the store may be used again. Nil means now.
    func storeRest(at now: Duration) -> Duration? { storeRetry > now ? storeRetry : nil }

    mutating func mustExpire(at now: Duration) -> Bool {
        guard nextExpiry <= now else { return false }
        nextExpiry = now + Self.longestPause
        return true
    }

    /// The queues that are worth reading.
    func queuesToRead(at now: Duration) -> Set<PushTrust> { nextDue.map { $0 <= now } ?? false ? Set(PushTrust.allCases) : unread }

    /// Returns the time at which enough workers are free, or nil for now.
    func gathering(freeCount: Int, of workerCount: Int, at now: Duration) -> Duration? {
        guard let fullAt, freeCount < workerCount / 4, now < fullAt + Self.gatheringTime else { return nil }
        return fullAt + Self.gatheringTime
    }

    /// Returns when the next action is due without an event.
    func pause(at now: Duration) -> Duration {
        var ends = [now + Self.longestPause, nextProbe, nextDue]
        if nextExpiry > now { ends.append(nextExpiry) }
        return ends.compactMap(\.self).filter { $0 > now }.min() ?? now + Self.longestPause
    }

    mutating func decided(waitingUntil end: Duration?, isRead: Bool) { (waitEnd, hasJustRead) = (end, isRead) }
}
