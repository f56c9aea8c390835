import Concurrency
import Envelope
import StatusCrypto
import WakuREST

/// Decides what to ask a node's store about one pubsub topic, so that nothing is missed that the store holds: a value, told what happened.
///
/// After every gap it catches up, from the checkpoint to now; every minute it compares what the store has with what is known. Both are a
/// pass over a window of time, and only a pass that was completed moves the checkpoint, which is our own clock's: nothing that a sender
/// claims moves it.
struct HistorySync {
    enum Work: Equatable {
        /// Read the checkpoint.
        case load
        /// Wait for a gap, or for the delay.
        case wait
        /// Ask the node's store.
        case ask(StoreQuery)
        /// Offer the messages to the receiver; when it has them, all of the hashes are known.
        case offer([WakuEnvelope], hashes: [Digest32])
        /// Write the checkpoint.
        case save(Timestamp)
    }

    /// What to do next, and what has come of the last event.
    struct Action: Equatable {
        var work: Work
        /// To be waited before, unless an event comes; nil waits for an event only.
        var delay: Duration?
        /// Why the store cannot be read or compared.
        var issue: String?
        /// Gaps that are filled now.
        var filledGapCount = 0
        /// The receiver took messages that were missed without any sign of a gap.
        var hasFoundMissed = false
    }

    enum Event {
        case loaded(Timestamp?)
        /// The node gives no live messages any more.
        case interrupted
        /// The node gives again, but may have given less than there was.
        case gap
        /// The delay is over.
        case waited
        case page(StorePage)
        case accepted
        /// The receiver has no room: it is asked again, and nothing more is fetched meanwhile.
        case overloaded
        case saved
        /// The work failed, for a reason in an operator's words.
        case failed(Failure, String)
    }

    enum Failure {
        /// The answer was longer than we read.
        case tooLarge
        /// The store does not have the row any more from which to go on.
        case cursorLost
        case other
    }

    static let interval = Duration.seconds(60)
    /// How far a window reaches back before the checkpoint: an archive takes messages up to 20 s older than its clock, which may be some
    /// seconds off ours, and messages take their time to reach it (WAKU_REST.md §3).
    static let margin = Duration.seconds(60)
    /// A comparison ends this long ago: younger messages may still be on their way to us (WAKU_REST.md §3).
    static let settledAge = Duration.seconds(20)
    /// A long gap is caught up in windows, so that a restart in the middle begins with the last one.
    static let maximumWindow = Duration.seconds(3_600)
    /// A window up to this size has mostly known messages, and hashes tell which ones are not. In a larger one most are unknown: asking
    /// for hashes first would only add requests.
    static let maximumHashWindow = Duration.seconds(300)
    /// Without a checkpoint, or with one from the future, which tells that the clock was changed: what push requests and queries live.
    static let firstLookBack = Duration.seconds(24 * 3_600)
    /// The most hashes in one request, as the reference clients ask (WAKU_REST.md §3).
    static let maximumHashCount = 50
    /// What the receiver needs at most until the registrations among a full room of 4,096 messages have made their topics wanted.
    static let topicDelay = Duration.seconds(5)
    /// Foreign messages that are remembered until the window's registrations are known: 18 a second, at about 10 MB.
    static let maximumForeignCount = 65_536
    /// As long as the receiver has no room.
    static let overloadDelay = Duration.seconds(1)
    static let stalled = "the store's cursor does not advance"
    static let backOff = BackOff(first: .seconds(1), longest: interval, minimumShare: 1)
    /// A gap is looked at once more after so many comparisons: a node that was down itself fetches what it missed from its peers only
    /// after its start (`--store-resume`, WAKU_REST.md §2.4).
    static let comparisonsBeforeReview = 10

    /// A message on a topic that nobody wanted when it was read.
    private struct Foreign {
        var topic: Topic
        var hash: String
    }

    private struct Pass {
        var checkpoint: Timestamp
        /// The window goes on to the present, which completes a catch-up.
        var reachesPresent: Bool
        /// The question of the listing, cursor included.
        var query: StoreQuery
        var isListed = false
        /// Where the listing has been.
        var cursors: Set<String> = []
        /// Hashes in the listing that are not known, to be fetched.
        var missing: [String] = []
        var hasOffered = false
        var hasReconsidered = false
    }

    private let pubsubTopic: String
    private let peerAddress: String?
    private let wants: @Sendable (_ contentTopic: String) -> Bool
    private let isKnown: @Sendable (Digest32) -> Bool

    private var checkpoint: Timestamp?
    private var pass: Pass?
    /// Gaps that no pass has begun to fill.
    private var openGapCount = 0
    /// Gaps that the passes under way fill.
    private var closingGapCount = 0
    /// Where the gap begins that is to be looked at once more.
    private var reviewStart: Timestamp?
    private var remainingComparisons = 0
    private var isReviewing = false
    private var foreign: [Foreign] = []
    private var pageSize = Self.maximumPageSize
    private var failureCount = 0
    /// How often the listing of the window led nowhere.
    private var stallCount = 0
    private var isInterrupted = false
    /// When what was foreign is looked at again.
    private var waitEnd: Timestamp?
    private var step = Action(work: .load, delay: .zero)

    private static let maximumPageSize = 100

    /// - Parameters:
    ///   - peerAddress: another node whose store is to be asked; nil: the node's own.
    ///   - wants: whether anything on this content topic could be for us, at the moment.
    ///   - isKnown: whether the message needs nothing more.
    init(
        pubsubTopic: String, peerAddress: String?, wants: @escaping @Sendable (_ contentTopic: String) -> Bool,
        isKnown: @escaping @Sendable (Digest32) -> Bool
    ) {
        self.pubsubTopic = pubsubTopic
        self.peerAddress = peerAddress
        self.wants = wants
        self.isKnown = isKnown
    }

    /// As the last event left it.
    var action: Action {
        guard isInterrupted else { return step }
        switch step.work {
        case .load, .offer, .save: return step
        case .ask, .wait:
            // A node that gives no live messages has nothing to compare them with; when it gives again, that is a gap.
            var action = step
            (action.work, action.delay) = (.wait, nil)
            return action
        }
    }

    @discardableResult
    mutating func note(_ event: Event, at now: Timestamp) -> Action {
        step.filledGapCount = 0
        step.hasFoundMissed = false
        switch event {
        case .loaded(let stored):
            checkpoint = stored
            openGapCount > 0 ? begin(at: now) : next(.wait, after: nil)
        case .waited:
            // What is missing of a page stays to be asked for, whoever rests meanwhile.
            guard step.work == .wait else { break }
            if pass == nil {
                beginReviewIfDue()
                begin(at: now)
            } else {
                reconsider()
            }
        case .page(let page): take(page)
        case .accepted: accept()
        case .overloaded: step.delay = Self.overloadDelay
        case .saved: complete(at: now)
        case .interrupted: isInterrupted = true
        case .gap: noteGap(at: now)
        case .failed(let failure, let reason): fail(failure, reason)
        }
        continueWait(at: now)
        return action
    }

    /// The rest before a second look goes on where an event broke it off: gaps that follow each other do not put it off.
    private mutating func continueWait(at now: Timestamp) {
        guard pass != nil, step.work == .wait else { return waitEnd = nil }
        // No later than that, though the clock be put back.
        let latest = now.advanced(by: Self.topicDelay)
        let end = min(waitEnd ?? latest, latest)
        waitEnd = end
        step.delay = max(.zero, .nanoseconds(end.nanoseconds) - .nanoseconds(now.nanoseconds))
    }

    // MARK: Windows

    private mutating func noteGap(at now: Timestamp) {
        isInterrupted = false
        openGapCount += 1
        // A pass under way goes on, without further patience: the node is there again, or the receiver has room. The next fills the gap.
        if step.work != .wait { step.delay = .zero } else if pass == nil { begin(at: now) }
    }

    /// Begins the pass over the next window.
    private mutating func begin(at now: Timestamp) {
        let start = checkpoint.flatMap { $0 <= now ? $0 : nil } ?? now.advanced(by: .zero - Self.firstLookBack)
        if openGapCount > 0 { reviewStart = min(reviewStart ?? start, start) }
        closingGapCount += openGapCount
        openGapCount = 0
        let end = closingGapCount > 0 ? now : now.advanced(by: .zero - Self.settledAge)
        guard start <= end else { return next(.wait, after: Self.interval) }
        let windowEnd = min(end, start.advanced(by: Self.maximumWindow))

        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        query.peerAddress = peerAddress
        query.startTime = start.advanced(by: .zero - Self.margin)
        query.endTime = windowEnd
        query.includesData = !isReviewing && windowEnd > start.advanced(by: Self.maximumHashWindow - Self.margin)
        pass = Pass(checkpoint: windowEnd, reachesPresent: windowEnd == end, query: query)
        proceed()
    }

    /// Goes back to where the last gap began. Almost all of it is known by now, and hashes tell.
    private mutating func beginReviewIfDue() {
        guard let start = reviewStart else { return }
        remainingComparisons -= 1
        guard remainingComparisons <= 0 else { return }
        checkpoint = min(checkpoint ?? start, start)
        reviewStart = nil
        isReviewing = true
    }

    private mutating func complete(at now: Timestamp) {
        guard let finished = pass else { return }
        checkpoint = finished.checkpoint
        pass = nil
        foreign = []
        stallCount = 0
        pageSize = Self.maximumPageSize
        guard finished.reachesPresent else { return begin(at: now) }
        if closingGapCount > 0 { remainingComparisons = Self.comparisonsBeforeReview }
        isReviewing = false
        step.filledGapCount = closingGapCount
        closingGapCount = 0
        openGapCount > 0 ? begin(at: now) : next(.wait, after: Self.interval)
    }

    // MARK: Inside a window

    /// The next step: what is missing of the page, the next page, a second look at what was foreign, the checkpoint.
    private mutating func proceed() {
        guard let pass else { return }
        if !pass.missing.isEmpty {
            var query = StoreQuery()
            query.hashes = Array(pass.missing.prefix(min(pageSize, Self.maximumHashCount)))
            query.peerAddress = peerAddress
            next(.ask(query), after: .zero)
        } else if !pass.isListed {
            var query = pass.query
            query.pageSize = pageSize
            next(.ask(query), after: .zero)
        } else if pass.hasOffered, !pass.hasReconsidered, !foreign.isEmpty {
            next(.wait, after: Self.topicDelay)
        } else {
            next(.save(pass.checkpoint), after: .zero)
        }
    }

    private mutating func take(_ page: StorePage) {
        guard case .ask(let query) = step.work else { return }
        guard query.hashes.isEmpty else {
            pass?.missing.removeFirst(query.hashes.count)
            return offer(page.rows)
        }
        if let cursor = page.cursor, page.rows.isEmpty || pass?.cursors.insert(cursor).inserted == false { return stall() }
        pass?.query.cursor = page.cursor
        pass?.isListed = page.cursor == nil
        let unknown = page.rows.filter { row in row.digest.map { !isKnown($0) } ?? true }
        guard !query.includesData else { return offer(unknown) }
        pass?.missing = unknown.map(\.hash)
        proceed()
    }

    private mutating func offer(_ rows: [StorePage.Row]) {
        var wanted: [WakuEnvelope] = []
        var hashes: [Digest32] = []
        for row in rows {
            guard let contentTopic = row.contentTopic else { continue }
            let isWanted = wants(contentTopic)
            let envelope = isWanted ? row.envelope : nil
            if let envelope, !LiveBatch.isReadable(envelope) { continue }  // Its hash may be another message's.
            if let digest = row.digest { hashes.append(digest) }
            if isWanted {
                if let envelope { wanted.append(envelope) }
            } else if foreign.count < Self.maximumForeignCount, let topic = Topic(contentTopic: contentTopic) {
                foreign.append(Foreign(topic: topic, hash: row.hash))
            }
        }
        if !wanted.isEmpty { pass?.hasOffered = true }
        guard !rows.isEmpty else { return proceed() }
        next(.offer(wanted, hashes: hashes), after: .zero)
    }

    private mutating func accept() {
        guard case .offer(let envelopes, _) = step.work else { return }
        step.hasFoundMissed = !envelopes.isEmpty && openGapCount == 0 && closingGapCount == 0 && !isReviewing
        proceed()
    }

    /// A registration in the window makes topics wanted: whoever asked for that client later in the window was taken for foreign.
    private mutating func reconsider() {
        pass?.hasReconsidered = true
        pass?.missing = foreign.filter { wants($0.topic.contentTopic) }.map(\.hash)
        foreign = []
        proceed()
    }

    // MARK: Outcomes

    private mutating func next(_ work: Work, after delay: Duration?) {
        (step.work, step.delay, step.issue) = (work, delay, stallCount > 0 ? Self.stalled : nil)
        failureCount = 0
    }

    /// A node with a wrong cursor would be asked for ever: the window is begun anew, later and later.
    private mutating func stall() {
        stallCount += 1
        failureCount = stallCount - 1
        fail(.cursorLost, Self.stalled)
    }

    /// The same work again, later and later; but not the same question if that was what failed.
    private mutating func fail(_ failure: Failure, _ reason: String) {
        let failureCount = failureCount + 1
        if pass != nil, case .ask = step.work, failure != .other {
            if failure == .tooLarge {
                pageSize = max(1, pageSize / 2)
            } else {
                pass?.query.cursor = nil
                pass?.cursors = []
            }
            proceed()
        }
        self.failureCount = failureCount
        step.issue = reason
        step.delay = Self.backOff.bound(afterFailures: failureCount)
    }
}
