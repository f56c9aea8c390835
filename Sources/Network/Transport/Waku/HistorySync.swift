import Bytes
import Envelope
import StatusCrypto
import Tasks
import WakuREST

/// Decides how the transport queries a node's store for a pubsub topic, so that the server does not miss any message that the store holds.
/// Events go in, the next action comes out.
///
/// After every gap it backfills from the history checkpoint to now. Every minute it compares the hashes in the store with the known hashes,
/// and every five minutes it does so for the last 70 minutes, because a node fetches messages that it missed from its peers up to an hour
/// later. Each is a pass over a window of time, and only a completed pass moves the checkpoint. The checkpoint is a time on the server's
/// clock, so no sender's timestamp moves it.
struct HistorySync {
    enum Work: Equatable {
        /// Read the checkpoint.
        case load
        /// Wait for a gap, or for the delay.
        case wait
        /// Query the node's store.
        case ask(StoreQuery)
        /// Offer the messages to the receiver. Once it has accepted them, all the hashes are known.
        case offer([WakuEnvelope], hashes: [Digest32])
        /// Save the checkpoint, with what the pass has found about the topic's holes.
        case save(Timestamp, Findings)
        /// Read the topic's holes.
        case loadHoles
    }

    struct Findings: Equatable {
        /// The times of recorded messages, in seconds since 1970.
        var seconds: Set<Int64> = []
        /// When the listing of all holes began that ends with this pass.
        var listedAt: Timestamp?
    }

    /// The next step, and what came of the last event.
    struct Action: Equatable {
        var work: Work
        /// The time to wait before the work, unless an event arrives. Nil waits for an event only.
        var delay: Duration?
        /// The reason why the store cannot be read or compared.
        var issue: String?
        /// The number of gaps that the last event has filled.
        var filledGapCount = 0
        /// Whether the receiver accepted messages that were missed without a detected gap, and without a pause of the polls.
        var hasFoundMissed = false
        /// The period whose messages the last event has listed to the end, without messages that may still be in transit.
        var listed: ClosedRange<Timestamp>?
        /// Whether the last event has ended a listing of the topic's holes.
        var hasListedHoles = false
    }

    enum Event {
        case loaded(Timestamp?)
        case holes([ClosedRange<Timestamp>])
        /// The node delivers no live messages any more.
        case interrupted
        /// The node delivers again, but may have dropped messages meanwhile.
        case gap
        /// The delay has passed.
        case waited
        case page(StorePage)
        case accepted
        /// The receiver lacks capacity or its database, so the work is repeated, and nothing more is fetched meanwhile.
        case notAccepted
        case saved
        /// The node failed, with a reason in words for an operator.
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
    /// may be a few seconds off ours, and messages need time to reach it (WAKU_REST.md §3).
    static let margin = Duration.seconds(60)
    /// The age at which a comparison ends: younger messages may still be in transit (WAKU_REST.md §3).
    static let comparisonDelay = Duration.seconds(20)
    /// The longest window. A long gap is backfilled in several windows, so that a restart repeats only the last.
    static let maximumWindow = Duration.seconds(3_600)
    /// The longest window whose hashes are listed first. In a short window most messages are known, and hashes identify the rest. In a
    /// longer window most are unknown, so listing hashes first would only add requests.
    static let maximumHashWindow = Duration.seconds(300)
    /// The interval between the starts of two comparisons that look back beyond the checkpoint.
    static let lookBackInterval = Duration.seconds(300)
    /// How far they look back: the hour that `--store-sync` covers, the time between two sync rounds, and the jitter (WAKU_REST.md §2.4).
    static let lookBack = Duration.seconds(70 * 60)
    /// The longest window in a look back, so that gaps and the last minute do not have to wait until it is compared as a whole.
    static let lookBackWindow = Duration.seconds(600)
    /// The interval between two listings of the holes, in which messages may have reached a store late.
    static let holeInterval = Duration.seconds(1_800)
    /// The minimum time to list a window. A longer window has as long as it covers: a node that needs more time never catches up.
    static let minimumListingTime = Duration.seconds(600)
    /// The period before now that is read without a checkpoint, or with a checkpoint in the future (the clock was changed): the lifetime of
    /// push requests and queries.
    static let initialBackfill = Duration.seconds(24 * 3_600)
    /// The maximum number of hashes in a single request, as in the reference clients (WAKU_REST.md §3).
    static let maximumHashCount = 50
    /// How long the receiver takes at most to decide the registrations in a full intake of 4,096 messages. It is then interested in their
    /// topics.
    static let topicDelay = Duration.seconds(5)
    /// The maximum number of unwanted messages remembered until the window's registrations are decided: 18 a second, about 10 MB.
    static let maximumForeignCount = 65_536
    /// The delay before work is repeated for which the receiver lacks capacity or its database.
    static let retryDelay = Duration.seconds(1)
    static let endless = "the store's pages do not end"
    static let backOff = BackOff(first: .seconds(1), longest: interval, minimumShare: 1)
    /// How many comparisons to wait before a gap is reviewed once: a node that was down itself fetches up to six hours from its peers, but
    /// only after its start (`--store-resume`, WAKU_REST.md §2.4).
    static let comparisonsBeforeReview = 10

    /// A message on a topic without interest at the time of reading.
    private struct UnregisteredMessage {
        var topic: Topic
        var hash: String
    }

    private struct Pass {
        enum Kind {
            /// The window ends before the present, and another follows.
            case catchingUp
            /// The window ends at the present, which completes a backfill.
            case reachingPresent
            /// The window is before the checkpoint, which stays.
            case lookingBack
            /// The window is a hole, of which everything is unknown. The checkpoint stays.
            case listingHole

            var movesCheckpoint: Bool { self == .catchingUp || self == .reachingPresent }
        }

        var kind: Kind
        /// The period that the pass covers, without the margin before it.
        var window: ClosedRange<Timestamp>
        /// Messages up to this time were in the store when the pass began.
        var settled: Timestamp
        var listing: StoreListing
        /// The time by which the listing has to be complete.
        var deadline: Timestamp
        /// Unknown hashes in the listing, whose messages are to be fetched.
        var missing: [String] = []
        var findings = Findings()
        var hasOffered = false
        var hasReconsidered = false
    }

    private let pubsubTopic: String
    private let peerAddress: String?
    private let wants: @Sendable (_ contentTopic: String) -> Bool
    private let isKnown: @Sendable (Digest32) -> Bool
    private let forgottenUntil: @Sendable () -> Timestamp?
    private let isPolledSteadily: @Sendable (_ start: Timestamp) -> Bool

    private var checkpoint: Timestamp?
    private var pass: Pass?
    /// The number of gaps that no pass has begun to fill.
    private var openGapCount = 0
    /// The number of gaps that the passes in progress fill.
    private var closingGapCount = 0
    /// Where the gap to review starts.
    private var reviewStart: Timestamp?
    private var remainingComparisons = 0
    /// The start of the period before the checkpoint that is still to be compared, or nil if there is none.
    private var lookBackStart: Timestamp?
    private var nextLookBack: Timestamp?
    /// The windows of holes that are still to be listed, and when their listing began, or nil outside of one.
    private var holes: [ClosedRange<Timestamp>] = []
    private var holesLoadedAt: Timestamp?
    /// When the holes are listed next: after a gap, and after a store failed, as soon as it is filled.
    private var nextHoleListing: Timestamp?
    private var foreign: [UnregisteredMessage] = []
    private var pageSize = Self.maximumPageSize
    private var failureCount = 0
    /// How often the window could not be listed because the store's pages lead nowhere, and the last reason.
    private var stalls = (count: 0, reason: String?.none)
    private var isInterrupted = false
    /// The time at which unwanted messages are checked again.
    private var waitEnd: Timestamp?
    private var step = Action(work: .load, delay: .zero)

    private static let maximumPageSize = 100

    /// - Parameters:
    ///   - peerAddress: The multiaddress of another node whose store is queried, or nil for the node's own store.
    ///   - wants: Whether the server is interested in this content topic at the moment.
    ///   - isKnown: Whether the server has already dealt with the message.
    ///   - forgottenUntil: The time up to which `isKnown` has forgotten messages early, or nil.
    ///   - isPolledSteadily: Whether live messages were polled without a pause since a time.
    init(
        pubsubTopic: String, peerAddress: String?, wants: @escaping @Sendable (_ contentTopic: String) -> Bool,
        isKnown: @escaping @Sendable (Digest32) -> Bool, forgottenUntil: @escaping @Sendable () -> Timestamp? = { nil },
        isPolledSteadily: @escaping @Sendable (_ start: Timestamp) -> Bool = { _ in true }
    ) {
        self.pubsubTopic = pubsubTopic
        self.peerAddress = peerAddress
        self.wants = wants
        self.isKnown = isKnown
        self.forgottenUntil = forgottenUntil
        self.isPolledSteadily = isPolledSteadily
    }

    /// Returns the time from which a look back compares. It leaves out what is forgotten, which would be fetched again and again.
    static func lookBackStart(at now: Timestamp, forgottenUntil: Timestamp?) -> Timestamp {
        let start = now.advanced(by: .zero - lookBack)
        return forgottenUntil.map { max(start, $0.advanced(by: margin)) } ?? start
    }

    /// The action after the last event.
    var action: Action {
        guard isInterrupted else { return step }
        switch step.work {
        case .load, .offer, .save, .loadHoles: return step
        case .ask, .wait:
            // The node delivers no live messages, so there is nothing to compare with its store. Its return is a gap.
            var action = step
            (action.work, action.delay) = (.wait, nil)
            return action
        }
    }

    @discardableResult
    mutating func note(_ event: Event, at now: Timestamp) -> Action {
        step.filledGapCount = 0
        step.hasFoundMissed = false
        step.listed = nil
        step.hasListedHoles = false
        switch event {
        case .loaded(let stored):
            checkpoint = stored
            openGapCount > 0 ? begin(at: now) : next(.wait, after: nil)
        case .holes(let periods): list(periods, at: now)
        case .waited:
            // An interruption replaces other work by a wait. A page's missing messages then still have to be fetched.
            guard step.work == .wait else { break }
            if pass == nil { begin(at: now) } else { reconsider() }
        case .page(let page): take(page, at: now)
        case .accepted: accept()
        case .notAccepted:
            step.delay = Self.retryDelay
            extendDeadline(at: now)
        case .saved: complete(at: now)
        case .interrupted: isInterrupted = true
        case .gap: noteGap(at: now)
        case .failed(let failure, let reason): fail(failure, reason, at: now)
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
        if isInterrupted { extendDeadline(at: now) }
        isInterrupted = false
        openGapCount += 1
        // A pass in progress continues without delay: the node is reachable again, or the receiver has capacity. The next pass fills the
        // gap.
        if step.work != .wait { step.delay = .zero } else if pass == nil { begin(at: now) }
    }

    /// Begins the pass over the next window: in a gap, in the last minute, in what a look back has left, or in a hole.
    private mutating func begin(at now: Timestamp) {
        if openGapCount == 0, closingGapCount == 0, let checkpoint {
            if let lookBackStart {
                let end = min(checkpoint, lookBackStart.advanced(by: Self.lookBackWindow))
                return begin(.lookingBack, over: lookBackStart...end, at: now)
            }
            if !holes.isEmpty { return begin(.listingHole, over: holes.removeFirst(), at: now) }
        }
        let start = checkpoint.flatMap { $0 <= now ? $0 : nil } ?? now.advanced(by: .zero - Self.initialBackfill)
        if openGapCount > 0 { reviewStart = min(reviewStart ?? start, start) }
        closingGapCount += openGapCount
        openGapCount = 0
        let end = closingGapCount > 0 ? now : now.advanced(by: .zero - Self.comparisonDelay)
        guard start <= end else { return next(.wait, after: Self.interval) }
        let windowEnd = min(end, start.advanced(by: Self.maximumWindow))
        begin(windowEnd == end ? .reachingPresent : .catchingUp, over: start...windowEnd, at: now)
    }

    private mutating func begin(_ kind: Pass.Kind, over window: ClosedRange<Timestamp>, at now: Timestamp) {
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        query.peerAddress = peerAddress
        query.startTime = kind.movesCheckpoint ? window.lowerBound.advanced(by: .zero - Self.margin) : window.lowerBound
        query.endTime = window.upperBound
        query.includesData = kind == .listingHole || kind.movesCheckpoint && window.length > Self.maximumHashWindow - Self.margin
        let settled = min(window.upperBound, now.advanced(by: .zero - Self.comparisonDelay))
        pass = Pass(
            kind: kind, window: window, settled: settled, listing: StoreListing(query), deadline: Self.deadline(of: window, at: now))
        proceed()
    }

    /// Returns the time by which a window has to be listed, from now.
    private static func deadline(of window: ClosedRange<Timestamp>, at now: Timestamp) -> Timestamp {
        now.advanced(by: max(window.length, minimumListingTime))
    }

    /// Gives the pass its time anew after a pause that is not the store's.
    private mutating func extendDeadline(at now: Timestamp) {
        guard let window = pass?.window else { return }
        pass?.deadline = Self.deadline(of: window, at: now)
    }

    private mutating func complete(at now: Timestamp) {
        guard let finished = pass else { return }
        pass = nil
        foreign = []
        stalls = (0, nil)
        pageSize = Self.maximumPageSize
        switch finished.kind {
        case .catchingUp: checkpoint = finished.window.upperBound
        case .reachingPresent:
            checkpoint = finished.window.upperBound
            remainingComparisons = closingGapCount > 0 ? Self.comparisonsBeforeReview : remainingComparisons - 1
            step.filledGapCount = closingGapCount
            if closingGapCount > 0 { nextHoleListing = now }
            closingGapCount = 0
            scheduleLookBack(at: now)
        case .lookingBack: lookBackStart = finished.window.upperBound
        case .listingHole:
            step.hasListedHoles = finished.findings.listedAt != nil
            if step.hasListedHoles { holesLoadedAt = nil }
        }
        if let start = lookBackStart, let checkpoint, start >= checkpoint { lookBackStart = nil }
        if finished.kind == .catchingUp || openGapCount > 0 || lookBackStart != nil || !holes.isEmpty {
            begin(at: now)
        } else if holesAreDue(at: now) {
            next(.loadHoles, after: .zero)
        } else {
            next(.wait, after: Self.interval)
        }
    }

    private func holesAreDue(at now: Timestamp) -> Bool {
        // The clock may have been set back.
        nextHoleListing.map { $0 <= now || $0 > now.advanced(by: Self.holeInterval) } ?? false
    }

    /// Begins to list the holes, in windows like those of a gap.
    private mutating func list(_ periods: [ClosedRange<Timestamp>], at now: Timestamp) {
        nextHoleListing = now.advanced(by: Self.holeInterval)
        holesLoadedAt = now
        holes = periods.flatMap { $0.windows(of: Self.maximumWindow) }
        step.hasListedHoles = holes.isEmpty
        holes.isEmpty && openGapCount == 0 ? next(.wait, after: Self.interval) : begin(at: now)
    }

    /// Starts to look back if it is time to, and to review the last gap. Almost all messages are known by now, so hashes suffice.
    private mutating func scheduleLookBack(at now: Timestamp) {
        // The clock may have been set back.
        let due = min(nextLookBack ?? now.advanced(by: Self.lookBackInterval), now.advanced(by: Self.lookBackInterval))
        nextLookBack = due
        if due <= now {
            nextLookBack = now.advanced(by: Self.lookBackInterval)
            lookBackStart = Self.lookBackStart(at: now, forgottenUntil: forgottenUntil())
        }
        if remainingComparisons <= 0, let start = reviewStart {
            lookBackStart = min(lookBackStart ?? start, start)
            reviewStart = nil
        }
    }

    // MARK: Inside a window

    /// Selects the next step: the page's missing messages, the next page, another check of unwanted messages, the checkpoint.
    private mutating func proceed() {
        guard let pass else { return }
        if !pass.missing.isEmpty {
            var query = StoreQuery()
            query.hashes = Array(pass.missing.prefix(min(pageSize, Self.maximumHashCount)))
            query.peerAddress = peerAddress
            next(.ask(query), after: .zero)
        } else if !pass.listing.isComplete {
            var query = pass.listing.query
            query.pageSize = pageSize
            next(.ask(query), after: .zero)
        } else if pass.hasOffered, !pass.hasReconsidered, !foreign.isEmpty {
            next(.wait, after: Self.topicDelay)
        } else {
            let end = pass.window.upperBound
            if pass.kind == .listingHole, holes.isEmpty { self.pass?.findings.listedAt = holesLoadedAt }
            next(.save(pass.kind.movesCheckpoint ? end : checkpoint ?? end, self.pass?.findings ?? Findings()), after: .zero)
        }
    }

    private mutating func take(_ page: StorePage, at now: Timestamp) {
        guard case .ask(let query) = step.work, var listing = pass?.listing, let deadline = pass?.deadline, let window = pass?.window
        else { return }
        pass?.findings.seconds.formUnion(page.rows.compactMap(\.timestamp).filter(window.contains).map { $0.nanoseconds / 1_000_000_000 })
        guard query.hashes.isEmpty else {
            pass?.missing.removeFirst(query.hashes.count)
            return offer(page.rows)
        }
        do throws(StoreListing.Fault) {
            try listing.take(page)
        } catch {
            return stall("\(error)", at: now)
        }
        guard listing.isComplete || now < deadline else { return stall(Self.endless, at: now) }
        // The clock may have been set back.
        pass?.deadline = min(deadline, Self.deadline(of: window, at: now))
        pass?.listing = listing
        reportListed()
        let unknown = page.rows.filter { row in row.digest.map { !isKnown($0) } ?? true }
        guard !query.includesData else { return offer(unknown) }
        pass?.missing = unknown.map(\.hash)
        proceed()
    }

    private mutating func reportListed() {
        guard let pass, pass.listing.isComplete, pass.kind.movesCheckpoint else { return }
        let start = pass.window.lowerBound.advanced(by: .zero - Self.margin)
        if start <= pass.settled { step.listed = start...pass.settled }
    }

    private mutating func offer(_ rows: [StorePage.Row]) {
        var wanted: [WakuEnvelope] = []
        var hashes: [Digest32] = []
        for row in rows {
            guard let contentTopic = row.contentTopic else { continue }
            let isWanted = wants(contentTopic)
            let envelope = isWanted ? row.envelope : nil
            if let envelope, !envelope.isReadable { continue }  // the hash may belong to another message
            if let digest = row.digest { hashes.append(digest) }
            if isWanted {
                if let envelope { wanted.append(envelope) }
            } else if foreign.count < Self.maximumForeignCount, let topic = Topic(contentTopic: contentTopic) {
                foreign.append(UnregisteredMessage(topic: topic, hash: row.hash))
            }
        }
        if !wanted.isEmpty { pass?.hasOffered = true }
        guard !rows.isEmpty else { return proceed() }
        next(.offer(wanted, hashes: hashes), after: .zero)
    }

    private mutating func accept() {
        guard case .offer(let envelopes, _) = step.work else { return }
        if let pass, pass.kind.movesCheckpoint, openGapCount == 0, closingGapCount == 0 {
            step.hasFoundMissed = !envelopes.isEmpty && isPolledSteadily(pass.window.lowerBound)
        }
        proceed()
    }

    /// Fetches the window's unwanted messages whose topics have become of interest: a registration in the window adds query topics, and
    /// queries later in the window were skipped.
    private mutating func reconsider() {
        pass?.hasReconsidered = true
        pass?.missing = foreign.filter { wants($0.topic.contentTopic) }.map(\.hash)
        foreign = []
        proceed()
    }

    // MARK: Outcomes

    private mutating func next(_ work: Work, after delay: Duration?) {
        (step.work, step.delay, step.issue) = (work, delay, stalls.reason)
        failureCount = 0
    }

    /// Lists the window again after growing delays, because the node's pages lead nowhere.
    private mutating func stall(_ reason: String, at now: Timestamp) {
        stalls = (stalls.count + 1, reason)
        failureCount = stalls.count - 1
        extendDeadline(at: now)
        fail(.cursorLost, reason, at: now)
    }

    /// Repeats the work with growing delays. A failed query is changed first: a smaller page, or no cursor.
    private mutating func fail(_ failure: Failure, _ reason: String, at now: Timestamp) {
        let failureCount = failureCount + 1
        if failure == .other { nextHoleListing = nextHoleListing.map { min($0, now) } ?? now }
        if pass != nil, case .ask = step.work, failure != .other {
            if failure == .tooLarge { pageSize = max(1, pageSize / 2) } else { pass?.listing.restart() }
            proceed()
        }
        self.failureCount = failureCount
        step.issue = reason
        step.delay = Self.backOff.bound(afterFailures: failureCount)
    }
}

extension ClosedRange<Timestamp> {
    /// The period in parts of this length. The last one may be shorter.
    fileprivate func windows(of length: Duration) -> [ClosedRange<Timestamp>] {
        let end = lowerBound.advanced(by: length)
        return end < upperBound ? [lowerBound...end] + (end...upperBound).windows(of: length) : [self]
    }
}
