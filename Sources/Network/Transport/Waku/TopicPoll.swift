import Bytes
import Envelope
import MetricDeclarations
import StatusCrypto
import Tasks

/// What a GET returned.
struct LiveBatch: Equatable {
    /// New messages on topics of interest.
    var wanted: [WakuEnvelope] = []
    /// The hashes of all messages, even if they are unwanted: the comparison with the node's store needs them to find missed messages.
    var hashes: [Digest32] = []
    /// The number of messages with an unsupported version, which are neither offered nor remembered: the hash does not cover the version,
    /// so a remembered hash would suppress the message's valid twin.
    var unreadableCount = 0
    /// The number of messages from an earlier batch that have become of interest since.
    var reconsideredCount = 0

    /// The number of messages that the node's cache held.
    var count: Int { hashes.count - reconsideredCount + unreadableCount }
}

/// The reason why live messages may have been missed.
enum Gap: String, MetricLabels {
    /// Nothing was received before the start.
    case start
    /// The node did not respond, or a response was lost: a GET is destructive.
    case outage
    /// The node had lost the subscription: it was restarted or replaced.
    case resubscription
    /// The node's cache was full and may have dropped messages.
    case overflow
    /// The receiver had no capacity for messages that the node's store still has.
    case shed
    /// The node had no peers.
    case peerless = "no_peers"

    static let labelNames = ["cause"]
}

/// Decides what to request next from a node for a pubsub topic. Events go in, the next action comes out.
struct TopicPoll {
    enum Work: Equatable {
        /// Take the messages from the node's cache.
        case take
        /// Subscribe the node to the topic: it was restarted, or is new.
        case subscribe
        /// Offer this batch to the receiver. The node has forgotten it, so nothing else is taken until the receiver accepts.
        case offer(LiveBatch)
    }

    /// A change in the reception.
    enum Reception: Equatable {
        /// The node delivers no messages any more.
        case interrupted
        /// The node delivers (again). Messages may be missing that its store has.
        case gap(Gap)
    }

    /// The next step, and what came of the last event.
    struct Action: Equatable {
        var work: Work
        /// The time to wait before the work.
        var delay: Duration
        /// The reason why no messages can be received at the moment.
        var issue: String?
        var reception: Reception?
        /// Set when the node's cache proved smaller than configured: batches of this size count as an overflow from now on.
        var overflowCount: Int?
        /// Set when the node did not deliver messages that its store has, although its cache was never full: another reader takes them.
        var hasOtherReader = false
    }

    enum Event {
        case took(LiveBatch)
        case notSubscribed
        case subscribed
        case accepted
        /// The receiver lacks capacity for the batch. Neither it nor the node is faulty.
        case shed
        /// The node's store has messages that no GET returned, although no batch looked like an overflow.
        case missed
        /// The receiver could not record the batch, and reports that itself. The node is not faulty.
        case notRecorded
        /// The node failed, with a reason in words for an operator.
        case failed(String)
    }

    /// The maximum delay between two attempts. Spares a node that is down, and loses little of its cache after its return.
    static let maximumDelay = Duration.seconds(10)

    /// The maximum delay before a batch is offered again that could not be recorded. The server probes its database as often.
    static let maximumRecordingDelay = Duration.seconds(1)

    /// The smallest default cache capacity of any node version (WAKU_REST.md §2.1). Messages missed while all batches were smaller were
    /// not lost to a full cache.
    static let smallestCacheCapacity = 30

    private let interval: Duration
    private let usesHistory: Bool
    private let backOff: BackOff
    /// Batches of at least this size suggest a full cache.
    private var overflowCount: Int
    private var largestBatchCount = 0
    private var failureCount = 0
    /// Whether the node was subscribed since the last successful GET.
    private var hasSubscribed = false
    /// While no messages are received, the cause.
    private var interruption: Gap? = .start
    private var lastBatchIsLarge = false
    private var isShedding = false

    /// The action after the last event.
    private(set) var action = Action(work: .take, delay: .zero, issue: "not polled yet")

    /// - Parameters:
    ///   - interval: The time between two GETs if the first returned few messages.
    ///   - cacheShare: The node's cache capacity divided by the number of polled topics. A full cache holds at least that many messages on
    ///     some topic (WAKU_REST.md §2.1 and §3).
    ///   - usesHistory: Whether messages for which the receiver lacks capacity are fetched later, from the node's store.
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
            lastBatchIsLarge = batch.count >= max(1, (overflowCount + 1) / 4)  // the next GET follows at once
            succeed(batch.hashes.isEmpty ? .take : .offer(batch), after: batch.hashes.isEmpty && !lastBatchIsLarge ? interval : .zero)
        case .shed where usesHistory:
            isShedding = true
            succeed(.take, after: interval)
        case .shed:
            // Without history, the batch is kept and offered again. The node's cache collects new messages meanwhile.
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
            // The node's cache is smaller than configured. Some versions ignore the setting (nwaku #3444).
            action.hasOtherReader = largestBatchCount < Self.smallestCacheCapacity
            if !action.hasOtherReader { overflowCount = min(overflowCount, largestBatchCount) }
            action.overflowCount = overflowCount
            action.delay = .zero
        case .notRecorded:
            // The batch is still in memory.
            failureCount += 1
            action.issue = nil
            action.delay = min(backOff.bound(afterFailures: failureCount), Self.maximumRecordingDelay)
        case .failed(let reason):
            interrupt(.outage)
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
        action.issue = nil
        failureCount = 0
        next(work, after: delay)
    }

    /// Repeats the work with growing delays.
    private mutating func fail(_ reason: String) {
        failureCount += 1
        action.issue = reason
        action.delay = backOff.bound(afterFailures: failureCount)
    }
}
