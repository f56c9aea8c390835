import Tasks

/// The times at which a route reads its queue, expires pushes, makes waiting pushes due and probes gorush.
///
/// Times are monotonic and count from the delivery's start.
struct Schedule: Sendable {
    /// Between two reads of the queue, and between two searches for expired pushes.
    static let longestPause = Duration.seconds(30)
    /// Slots for several requests accumulate in this time while more pushes are due than may be posted, because each read costs a commit.
    static let gatheringTime = Duration.milliseconds(5)
    /// Between attempts to use a database that fails.
    static let storeRetryInterval = Duration.seconds(1)
    /// Between transactions of up to 1,000 pushes that are made due after an outage, so that they do not crowd out new pushes.
    static let retryNowInterval = Duration.milliseconds(250)
    /// Between two probes of a gorush that works. If gorush restarts while the route is idle, only a probe notices it.
    static let probeInterval = Duration.seconds(30)
    /// Between two probes of a gorush that cannot be used. An idle server has to be ready as soon as its gorush is.
    static let searchInterval = BackOff.route.longest

    private enum Queue {
        case mayHaveMore
        case beingRead
        case quiet(until: Duration, isEmpty: Bool)
    }

    private(set) var isStopping = false
    private var queue = Queue.mayHaveMore
    /// The number of requests that the last read was for.
    private var wantedCount = 0
    /// When the queue was last read, or nil unless it had pushes for all wanted requests.
    private var fullRead: Duration?
    private var nextExpiry = Duration.zero
    private var storeRetry = Duration.zero
    /// When the next probe is due, or nil while a probe is in progress.
    private var nextProbe: Duration? = .zero
    /// When the next transaction makes waiting pushes due, and the row after which it starts. Nil if there is no such transaction.
    private var pendingRetry: (next: Duration, row: Int64)?
    /// When the wait that was last decided ends, or nil if there was something to do.
    private(set) var waitEnd: Duration?

    // MARK: Events

    mutating func stop() { isStopping = true }

    /// Records that the queue may have new pushes.
    mutating func wake() { queue = .mayHaveMore }

    /// Records that the store works and that the route posts that number of requests.
    mutating func posted(_ requestCount: Int, at now: Duration) {
        queue = .mayHaveMore
        fullRead = requestCount < wantedCount ? nil : now
    }

    /// Records that no push is due before that time, or nil if the queue is empty.
    mutating func nothingDue(until: Duration?, at now: Duration) {
        fullRead = nil
        // A push may have come since the queue was read.
        if case .beingRead = queue {
            queue = .quiet(until: min(until ?? .seconds(Int64.max), now + Self.longestPause), isEmpty: until == nil)
        }
    }

    mutating func storeFailed(at now: Duration) {
        storeRetry = now + Self.storeRetryInterval
        nextExpiry = .zero
        queue = .mayHaveMore
    }

    /// Probes gorush at that time at the latest.
    mutating func probe(by time: Duration) { nextProbe = nextProbe.map { min($0, time) } }

    /// Records that a probe has ended.
    mutating func probed(isFine: Bool, at now: Duration) { nextProbe = now + (isFine ? Self.probeInterval : Self.searchInterval) }

    /// Makes pushes due that wait because of the route.
    mutating func retryNow(at now: Duration) { pendingRetry = (now, 0) }

    /// Pushes up to that row were made due, or nil if there are no more.
    mutating func retriedNow(upTo row: Int64?, at now: Duration) {
        pendingRetry = row.map { (now + Self.retryNowInterval, $0) }
        queue = .mayHaveMore
    }

    // MARK: Decisions

    var isProbing: Bool { nextProbe == nil }

    /// Whether no push waited when the queue was last read.
    var isEmpty: Bool { if case .quiet(_, let isEmpty) = queue { isEmpty } else { false } }

    mutating func mustProbe(at now: Duration) -> Bool {
        guard let time = nextProbe, time <= now else { return false }
        nextProbe = nil
        return true
    }

    /// Returns the time at which the store may be used again. Nil means now.
    func storeRest(at now: Duration) -> Duration? { storeRetry > now ? storeRetry : nil }

    /// Returns the row after which to make waiting pushes due now, or nil if it is not time.
    func rowToRetryNow(at now: Duration) -> Int64? { pendingRetry.flatMap { $0.next <= now ? $0.row : nil } }

    mutating func mustExpire(at now: Duration) -> Bool {
        guard nextExpiry <= now else { return false }
        nextExpiry = now + Self.longestPause
        return true
    }

    /// Whether the queue is to be read.
    func mayRead(at now: Duration) -> Bool { if case .quiet(let until, _) = queue { until <= now } else { true } }

    /// Returns the time at which enough slots for requests have accumulated. Nil means now.
    func gathering(for requestCount: Int, of window: Int, at now: Duration) -> Duration? {
        guard let fullRead, requestCount < window / 4, now < fullRead + Self.gatheringTime else { return nil }
        return fullRead + Self.gatheringTime
    }

    mutating func read(_ requestCount: Int) {
        queue = .beingRead
        wantedCount = requestCount
    }

    /// Returns when the next action is due without an event.
    func pause(at now: Duration) -> Duration {
        var ends = [now + Self.longestPause, nextProbe, pendingRetry?.next]
        if nextExpiry > now { ends.append(nextExpiry) }
        if case .quiet(let until, _) = queue { ends.append(until) }
        return ends.compactMap(\.self).filter { $0 > now }.min() ?? now + Self.longestPause
    }

    mutating func wait(until end: Duration?) { waitEnd = end }
}
