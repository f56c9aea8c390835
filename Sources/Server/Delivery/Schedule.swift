import Bytes
import Store

/// The times at which a route reads the table, expires pushes and probes gorush.
///
/// Times are monotonic and count from the delivery's start.
struct Schedule: Sendable {
    /// Between two searches for expired pushes, and the longest wait.
    static let longestPause = Duration.seconds(30)
    /// Attempts that end accumulate in this time while gorush's workers are all in use, so that one read serves several.
    static let gatheringTime = Duration.milliseconds(5)
    /// Between attempts to use a database that fails.
    static let storeRetryInterval = Duration.seconds(1)
    /// Between two probes of a gorush that works. If gorush restarts while the route is idle, only a probe notices it.
    static let probeInterval = Duration.seconds(30)
    /// Between two probes of a gorush that cannot be used.
    static let searchInterval = CircuitBreaker.trialInterval
    /// Between two readings of all devices: a net for pushes that nobody looks at. It has to find none.
    static let readingInterval = Duration.seconds(600)
    /// Pushes whose attempts got no answer are brought forward once in that time.
    static let bringingForwardInterval = Duration.seconds(1)

    /// Work with the store. What ``RouteState/next(at:)`` starts goes on beside the attempts, one of each kind at a time.
    enum Work: Sendable, Hashable {
        case expiry, reading, bringingForward, marking, recording, lookUp
    }

    /// A part of the devices in the table.
    struct Page: Sendable, Equatable {
        var trust: PushTrust
        /// The last device of the previous page; nil for the first page.
        var last: DeviceCode?
        /// Whether the table is read although nothing in it should be unknown.
        var isNet: Bool

        /// How many devices are read at once, in a few milliseconds.
        static let count = 1_000
        /// Calls come first.
        fileprivate static let order: [PushTrust] = [.call, .proven, .unproven, .unknownBundleID]
    }

    private(set) var isStopping = false
    private(set) var running: Set<Work> = []
    /// The next page to read; nil while all are read.
    private var page: Page? = Page(trust: Page.order[0], last: nil, isNet: false)
    private var readAt = Duration.zero
    /// When all workers were last in use.
    private var fullAt: Duration?
    private var nextExpiry = Duration.zero
    private var storeRetry = Duration.zero
    /// When the next probe is due, or nil while a probe is in progress.
    private var nextProbe: Duration? = .zero
    /// When pushes whose attempts got no answer are brought forward; nil if there is no reason to.
    private var nextBringingForward: Duration?
    private var broughtForwardAt: Duration?
    /// When the wait that was last decided ends, or nil if there was something to do.
    private(set) var waitEnd: Duration?

    // MARK: Events

    mutating func stop() { isStopping = true }

    mutating func begin(_ work: Work) {
        running.insert(work)
        // A delivery during the work asks for it again.
        if work == .bringingForward { nextBringingForward = nil }
    }

    mutating func ended(_ work: Work) { running.remove(work) }

    /// Reads all devices from the start.
    mutating func readAll() { page = Page(trust: Page.order[0], last: nil, isNet: false) }

    /// Records that a page was read.
    ///
    /// - Parameter last: Its last device, or nil if it was the last page of its trust.
    mutating func read(_ read: Page, last: DeviceCode?, at now: Duration) {
        running.remove(.reading)
        // All are read again from the start.
        guard page == read else { return }
        if let last {
            page?.last = last
        } else if let index = Page.order.firstIndex(of: read.trust), index + 1 < Page.order.count {
            page = Page(trust: Page.order[index + 1], last: nil, isNet: read.isNet)
        } else {
            (page, readAt) = (nil, now)
        }
    }

    /// A device whose attempts got no answers was delivered to.
    mutating func bringForward(at now: Duration) {
        nextBringingForward = max(now, broughtForwardAt.map { $0 + Self.bringingForwardInterval } ?? now)
    }

    /// - Parameter isComplete: Whether no more are to be brought forward.
    mutating func broughtForward(isComplete: Bool, at now: Duration) {
        running.remove(.bringingForward)
        broughtForwardAt = now
        if !isComplete || nextBringingForward != nil { bringForward(at: now) }
    }

    /// Records whether all workers are in use.
    mutating func posted(isFull: Bool, at now: Duration) { fullAt = isFull ? now : nil }

    mutating func storeFailed(at now: Duration) {
        storeRetry = now + Self.storeRetryInterval
        nextExpiry = .zero
    }

    /// Probes gorush at that time at the latest.
    mutating func probe(by time: Duration) { nextProbe = nextProbe.map { min($0, time) } }

    /// Records that a probe has ended.
    mutating func probed(isFine: Bool, at now: Duration) { nextProbe = now + (isFine ? Self.probeInterval : Self.searchInterval) }

    // MARK: Decisions

    var isProbing: Bool { nextProbe == nil }

    /// Whether the devices in the table are known, but for those that are told.
    var hasReadAll: Bool { page == nil }

    mutating func mustProbe(at now: Duration) -> Bool {
        guard let time = nextProbe, time <= now else { return false }
        nextProbe = nil
        return true
    }

    /// Returns the time at which the store may be used again. Nil means now.
    func storeRest(at now: Duration) -> Duration? { storeRetry > now ? storeRetry : nil }

    mutating func mustExpire(at now: Duration) -> Bool {
        guard nextExpiry <= now, !running.contains(.expiry) else { return false }
        nextExpiry = now + Self.longestPause
        return true
    }

    /// The next part of the devices in the table to read, or nil if none is to be read now.
    ///
    /// - Parameter hasRoom: Whether memory has room for more devices.
    mutating func pageToRead(hasRoom: Bool, at now: Duration) -> Page? {
        guard !running.contains(.reading) else { return nil }
        if page == nil, now - readAt >= Self.readingInterval { page = Page(trust: Page.order[0], last: nil, isNet: true) }
        return hasRoom ? page : nil
    }

    func mustBringForward(at now: Duration) -> Bool {
        !running.contains(.bringingForward) && nextBringingForward.map { $0 <= now } ?? false
    }

    /// Returns the time at which enough workers are free, or nil for now.
    func gathering(freeCount: Int, of workerCount: Int, at now: Duration) -> Duration? {
        guard let fullAt, freeCount < workerCount / 4, now < fullAt + Self.gatheringTime else { return nil }
        return fullAt + Self.gatheringTime
    }

    /// Returns when the next action is due without an event.
    func pause(at now: Duration) -> Duration {
        var ends = [now + Self.longestPause, nextProbe, nextBringingForward, page == nil ? readAt + Self.readingInterval : nil]
        if nextExpiry > now { ends.append(nextExpiry) }
        return ends.compactMap(\.self).filter { $0 > now }.min() ?? now + Self.longestPause
    }

    mutating func decided(waitingUntil end: Duration?) { waitEnd = end }
}
