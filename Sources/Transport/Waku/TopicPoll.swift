import Concurrency
import Envelope
import StatusCrypto
import Wire

/// What a GET has taken from a node.
struct LiveBatch: Equatable {
    /// On topics of interest, and not known yet.
    var wanted: [WakuEnvelope] = []
    /// Hashes of all messages, the foreign ones too: a comparison with the node's store tells by them what was missed.
    var hashes: [Digest32] = []
    /// Messages that are neither offered nor remembered, because nobody can read them.
    var unreadableCount = 0
    /// Messages of an earlier batch, which have come to be of interest since.
    var reconsideredCount = 0

    /// What the node's cache held.
    var count: Int { hashes.count - reconsideredCount + unreadableCount }

    /// Whether a message on a topic of interest has the version that is ours. The hash does not cover it: what was dropped for its version
    /// must not be known by its hash, or a twin of a message would take the message's place.
    static func isReadable(_ envelope: WakuEnvelope) -> Bool { envelope.message.version == RFC26.messageVersion }
}

/// Why messages may have passed by unseen.
enum Gap: String, CaseIterable {
    /// Nothing was received before this run.
    case start
    /// The node did not answer for a while, or an answer was lost, which a GET makes the loss of messages.
    case outage
    /// The node had forgotten the subscription: it was restarted, or is another one.
    case resubscription
    /// The node's cache was full, and may have been fuller.
    case overflow
    /// The receiver had no room for messages, which the node's store still has.
    case shed
}

/// Decides what to do about one pubsub topic of a node: a value, told what happened.
struct TopicPoll {
    enum Work: Equatable {
        /// Take what the node has.
        case take
        /// The node does not know the topic (any more): it was restarted, or is new.
        case subscribe
        /// Offer this batch to the receiver. The node has forgotten it, so nothing else is taken until it is accepted.
        case offer(LiveBatch)
    }

    /// How the reception changed.
    enum Reception: Equatable {
        /// The node does not give any more.
        case interrupted
        /// The node gives (again), and something may be missing that its store has.
        case gap(Gap)
    }

    /// What to do next, and what has come of the last event.
    struct Action: Equatable {
        var work: Work
        /// To be waited before.
        var delay: Duration
        /// Why nothing can be received at the moment.
        var trouble: String?
        var reception: Reception?
        /// Set when the node proved to keep less than was said: a batch of this size is taken for an overflow from now on.
        var overflowCount: Int?
        /// Set when the node did not give what it had, although no cache was ever full.
        var hasOtherReader = false
    }

    enum Event {
        case took(LiveBatch)
        case notSubscribed
        case subscribed
        case accepted
        /// The receiver has no room for the batch, which is not its fault nor the node's.
        case shed
        /// The node's store has messages that no GET gave, although no batch looked like an overflow.
        case missed
        /// The work failed, for a reason in an operator's words.
        case failed(String)
    }

    /// Long enough to spare a node that is down, short enough to lose little of its cache when it is back.
    static let maximumDelay = Duration.seconds(10)

    /// The smallest default that a node ever had (WAKU_REST.md §2.1). Whatever was missed while batches were smaller than that, no cache
    /// was full.
    static let smallestCacheCapacity = 30

    private let interval: Duration
    private let usesHistory: Bool
    private let backOff: BackOff
    /// A batch of this size is taken for the sign of a full cache.
    private var overflowCount: Int
    private var largestBatchCount = 0
    private var failureCount = 0
    /// The node did not know the topic although it was just subscribed.
    private var hasSubscribed = false
    /// Set while nothing is received: why, by what began it.
    private var interruption: Gap? = .start
    private var lastBatchIsLarge = false
    private var isShedding = false

    /// As the last event left it.
    private(set) var action = Action(work: .take, delay: .zero, trouble: "not polled yet")

    /// - Parameters:
    ///   - interval: between two GETs of which the first one did not find much.
    ///   - cacheShare: the node's cache capacity divided by the number of topics that are polled. A full cache holds at least that many
    ///     messages of one of them (WAKU_REST.md §2.1 and §3).
    ///   - usesHistory: whether what the receiver has no room for is fetched from the node's store later.
    init(interval: Duration, cacheShare: Int, usesHistory: Bool = true) {
        self.interval = interval
        self.usesHistory = usesHistory
        backOff = BackOff(first: interval, longest: Self.maximumDelay, minimumShare: 1)
        overflowCount = max(1, cacheShare - 1)
    }

    @discardableResult
    mutating func note(_ event: Event) -> Action {
        action.reception = nil
        action.overflowCount = nil
        action.hasOtherReader = false
        switch event {
        case .took(let batch):
            let cause = interruption ?? (batch.count >= overflowCount ? .overflow : nil)
            action.reception = cause.map { .gap($0) }
            interruption = nil
            hasSubscribed = false
            largestBatchCount = max(largestBatchCount, batch.count)
            lastBatchIsLarge = batch.count >= max(1, (overflowCount + 1) / 4)  // The next one is taken at once.
            succeed(batch.hashes.isEmpty ? .take : .offer(batch), after: batch.hashes.isEmpty && !lastBatchIsLarge ? interval : .zero)
        case .shed where usesHistory:
            isShedding = true
            succeed(.take, after: interval)
        case .shed:
            // The node's cache is all that there is: it takes what comes in meanwhile.
            succeed(action.work, after: interval)
        case .accepted:
            if isShedding { action.reception = .gap(.shed) }
            isShedding = false
            succeed(.take, after: lastBatchIsLarge ? .zero : interval)
        case .notSubscribed where hasSubscribed:
            hasSubscribed = false
            action.work = .take
            fail("the node does not keep the subscription")
        case .notSubscribed:
            interrupt(.resubscription)
            next(.subscribe, after: .zero)
        case .subscribed:
            hasSubscribed = true
            next(.take, after: .zero)
        case .missed:
            // The node keeps less than the operator says; some versions ignore what they are told (nwaku #3444).
            action.hasOtherReader = largestBatchCount < Self.smallestCacheCapacity
            if !action.hasOtherReader { overflowCount = min(overflowCount, largestBatchCount) }
            action.overflowCount = overflowCount
            action.delay = .zero
        case .failed(let reason):
            // A batch that cannot be recorded is still there; everything else is a node that does not give.
            if action.work == .take || action.work == .subscribe { interrupt(.outage) }
            fail(reason)
        }
        return action
    }

    private mutating func interrupt(_ cause: Gap) {
        guard interruption == nil else { return }
        interruption = cause
        action.reception = .interrupted
    }

    private mutating func next(_ work: Work, after delay: Duration) {
        action.work = work
        action.delay = delay
    }

    private mutating func succeed(_ work: Work, after delay: Duration) {
        action.trouble = nil
        failureCount = 0
        next(work, after: delay)
    }

    /// The same work again, later and later.
    private mutating func fail(_ reason: String) {
        failureCount += 1
        action.trouble = reason
        action.delay = backOff.bound(afterFailures: failureCount)
    }
}
