import Bytes
import Envelope
import StatusCrypto
import Tasks
import WakuREST

/// Decides which queries of a node's store the transport makes for one pubsub topic, so that the server misses no message that the store
/// holds. Events go in, the next action comes out.
///
/// After every gap it backfills from the history checkpoint to now. Every minute it compares the hashes in the store with the known hashes.
/// Either is a pass over a window of time. Only a completed pass moves the checkpoint. The checkpoint is a time of the server's clock: no
/// sender's timestamp moves it.
struct HistorySync {
    enum Work: Equatable {
        /// Read the checkpoint.
        case load
        /// Wait for a gap, or for the delay.
        case wait
        /// Query the node's store.
        case ask(StoreQuery)
        /// Offer the messages to the receiver. When it has accepted them, all of the hashes are known.
        case offer([WakuEnvelope], hashes: [Digest32])
        /// Save the checkpoint.
        case save(Timestamp)
    }

    /// The next step, and the effects of the last event.
    struct Action: Equatable {
        var work: Work
        /// The time to wait before the work, unless an event arrives; nil waits for an event only.
        var delay: Duration?
        /// The reason why the store cannot be read or compared.
        var issue: String?
        /// The number of gaps that the last event has filled.
        var filledGapCount = 0
        /// Whether the receiver accepted messages that were missed without a detected gap.
        var hasFoundMissed = false
    }

    enum Event {
        case loaded(Timestamp?)
        /// The node delivers no live messages any more.
        case interrupted
        /// The node delivers again, but may have dropped messages meanwhile.
        case gap
        /// The delay has passed.
        case waited
        case page(StorePage)
        case accepted
        /// The receiver has no capacity: the offer is repeated, and nothing more is fetched meanwhile.
        case overloaded
        case saved
        /// The work failed, with a reason in words for an operator.
        case failed(Failure, String)
    }

    enum Failure {
        /// The response exceeds the maximum size.
        case tooLarge
        /// The store has deleted the row at which the cursor points.
        case cursorLost
        case other
    }

    static let interval = Duration.seconds(60)
    /// The interval by which a window begins before the checkpoint. An archive accepts messages up to 20 s older than its clock, its clock
    /// may be some seconds off ours, and messages need time to reach it (WAKU_REST.md §3).
    static let margin = Duration.seconds(60)
    /// The age at which a comparison ends: younger messages may still be in transit (WAKU_REST.md §3).
    static let settledAge = Duration.seconds(20)
    /// The longest window. A long gap is backfilled in several windows, so that a restart repeats only the last one.
    static let maximumWindow = Duration.seconds(3_600)
    /// The longest window whose hashes are listed first. Most messages of a short window are known, and hashes identify the others. Most
    /// messages of a longer window are unknown: listing hashes first would only add requests.
    static let maximumHashWindow = Duration.seconds(300)
    /// The period before now that is read without a checkpoint, or with a checkpoint in the future (the clock was changed): the lifetime of
    /// push requests and queries.
    static let firstLookBack = Duration.seconds(24 * 3_600)
    /// The maximum number of hashes in one request, as in the reference clients (WAKU_REST.md §3).
    static let maximumHashCount = 50
    /// The time within which the receiver decides the registrations of a full intake of 4,096 messages, and is then interested in their
    /// topics.
    static let topicDelay = Duration.seconds(5)
    /// The maximum number of unwanted messages remembered until the window's registrations are decided: 18 a second, about 10 MB.
    static let maximumForeignCount = 65_536
    /// The delay before an offer is repeated to a receiver without capacity.
    static let overloadDelay = Duration.seconds(1)
    static let stalled = "the store's cursor does not advance"
    static let backOff = BackOff(first: .seconds(1), longest: interval, minimumShare: 1)
    /// The number of comparisons after which a gap is reviewed once: a node that was down itself fetches missed messages from its peers
    /// only after its start (`--store-resume`, WAKU_REST.md §2.4).
    static let comparisonsBeforeReview = 10

    /// A message on a topic without interest at the time of reading.
    private struct Foreign {
        var topic: Topic
        var hash: String
    }

    private struct Pass {
        var checkpoint: Timestamp
        /// Whether the window ends at the present, which completes a backfill.
        var reachesPresent: Bool
        /// The query that lists the window, with its cursor.
        var query: StoreQuery
        var isListed = false
        /// The cursors of the listing so far.
        var cursors: Set<String> = []
        /// Unknown hashes in the listing, whose messages are to be fetched.
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
    /// The number of gaps that no pass has begun to fill.
    private var openGapCount = 0
    /// The number of gaps that the passes in progress fill.
    private var closingGapCount = 0
    /// The start of the gap to review.
    private var reviewStart: Timestamp?
    private var remainingComparisons = 0
    private var isReviewing = false
    private var foreign: [Foreign] = []
    private var pageSize = Self.maximumPageSize
    private var failureCount = 0
    /// The number of listings of the window that failed because the cursor did not advance.
    private var stallCount = 0
    private var isInterrupted = false
    /// The time at which unwanted messages are checked again.
    private var waitEnd: Timestamp?
    private var step = Action(work: .load, delay: .zero)

    private static let maximumPageSize = 100

    /// - Parameters:
    ///   - peerAddress: The multiaddress of another node whose store is queried, or nil for the node's own store.
    ///   - wants: Whether the server is interested in this content topic at the moment.
    ///   - isKnown: Whether the message needs no further processing.
    init(
        pubsubTopic: String, peerAddress: String?, wants: @escaping @Sendable (_ contentTopic: String) -> Bool,
        isKnown: @escaping @Sendable (Digest32) -> Bool
    ) {
        self.pubsubTopic = pubsubTopic
        self.peerAddress = peerAddress
        self.wants = wants
        self.isKnown = isKnown
    }

    /// The action after the last event.
    var action: Action {
        guard isInterrupted else { return step }
        switch step.work {
        case .load, .offer, .save: return step
        case .ask, .wait:
            // The node delivers no live messages, so there is nothing to compare with its store; its return is a gap.
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
            // An interruption replaces other work by a wait. The missing messages of a page stay to be fetched.
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

    /// Continues the wait before unwanted messages are checked again where an event interrupted it: consecutive gaps do not postpone the
    /// check.
    private mutating func continueWait(at now: Timestamp) {
        guard pass != nil, step.work == .wait else { return waitEnd = nil }
        // The wait never exceeds the delay, even if the clock is set back.
        let latest = now.advanced(by: Self.topicDelay)
        let end = min(waitEnd ?? latest, latest)
        waitEnd = end
        step.delay = max(.zero, .nanoseconds(end.nanoseconds) - .nanoseconds(now.nanoseconds))
    }

    // MARK: Windows

    private mutating func noteGap(at now: Timestamp) {
        isInterrupted = false
        openGapCount += 1
        // A pass in progress continues without delay: the node is reachable again, or the receiver has capacity. The next pass fills the
        // gap.
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

    /// Moves the checkpoint back to the start of the last gap. Almost all of its messages are known by now, so hashes suffice.
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

    /// Selects the next step: missing messages of the page, the next page, another check of unwanted messages, the checkpoint.
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
            if let envelope, !LiveBatch.isReadable(envelope) { continue }  // the hash may belong to another message
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

    /// Fetches unwanted messages of the window on topics that have become of interest: a registration in the window adds query topics, and
    /// queries later in the window were skipped.
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

    /// Restarts the window with growing delays, because the cursor of the node does not advance.
    private mutating func stall() {
        stallCount += 1
        failureCount = stallCount - 1
        fail(.cursorLost, Self.stalled)
    }

    /// Repeats the work with growing delays. A failed query is changed first: a smaller page, or no cursor.
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
