import Envelope
import StatusCrypto

/// What a GET has taken from a node.
struct LiveBatch: Equatable {
    /// On topics of interest, and not known yet.
    var wanted: [WakuEnvelope] = []
    /// Of all messages, the foreign ones too: a comparison with the node's store tells by them what was missed.
    var hashes: [Digest32] = []
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
}

/// Decides what to do next about one pubsub topic of a node: a value, told what happened.
struct TopicPoll {
    enum Action: Equatable {
        /// Take what the node has.
        case take
        /// The node does not know the topic (any more): it was restarted, or is new.
        case subscribe
        /// Offer this batch to the receiver. The node has forgotten it, so nothing else is taken until it is accepted.
        case offer(LiveBatch)
    }

    enum Event {
        case took(LiveBatch)
        case notSubscribed
        case subscribed
        case accepted
        /// The action failed, for a reason in an operator's words.
        case failed(String)
        /// The node's store has messages that no GET gave although no batch looked like an overflow.
        case missed
    }

    /// Long enough to spare a node that is down, short enough to lose little of its cache when it is back.
    static let maximumDelay = Duration.seconds(10)

    /// The smallest default that a node ever had (WAKU_REST.md §2.1). Whatever was missed while batches were smaller than that, no cache
    /// was full.
    static let smallestCacheCapacity = 30

    private let interval: Duration
    /// A batch of this size is taken for the sign of a full cache.
    private(set) var overflowCount: Int
    private var largestBatchCount = 0
    /// Doubles from failure to failure.
    private var retryDelay: Duration
    /// The node did not know the topic although it was just subscribed.
    private var hasSubscribed = false
    /// Set while nothing is received: why, by what began it.
    private var interruption: Gap? = .start
    private var lastBatchIsLarge = false

    private(set) var action = Action.take
    /// To be waited before the action.
    private(set) var delay = Duration.zero
    /// Why nothing can be received at the moment.
    private(set) var trouble: String? = "not polled yet"
    /// What the last event has shown to be missing, to be caught up from the node's store.
    private(set) var gap: Gap?

    /// - Parameters:
    ///   - interval: between two GETs of which the first one did not find much.
    ///   - cacheShare: the node's cache capacity divided by the number of topics that are polled. A full cache holds at least that many
    ///     messages of one of them (WAKU_REST.md §2.1 and §3).
    init(interval: Duration, cacheShare: Int) {
        self.interval = interval
        overflowCount = max(1, cacheShare - 1)
        retryDelay = interval
    }

    /// Whether the last GET succeeded.
    var isReceiving: Bool { interruption == nil }

    mutating func note(_ event: Event) {
        gap = nil
        switch event {
        case .took(let batch):
            succeed()
            gap = interruption ?? (batch.hashes.count >= overflowCount ? .overflow : nil)
            interruption = nil
            hasSubscribed = false
            largestBatchCount = max(largestBatchCount, batch.hashes.count)
            lastBatchIsLarge = batch.hashes.count >= max(1, (overflowCount + 1) / 4)  // The next one is taken at once.
            next(batch.hashes.isEmpty ? .take : .offer(batch), after: batch.hashes.isEmpty ? interval : .zero)
        case .accepted:
            succeed()
            next(.take, after: lastBatchIsLarge ? .zero : interval)
        case .notSubscribed where hasSubscribed:
            hasSubscribed = false
            fail("the node does not keep the subscription")
            action = .take
        case .notSubscribed:
            interruption = interruption ?? .resubscription
            next(.subscribe, after: .zero)
        case .subscribed:
            hasSubscribed = true
            next(.take, after: .zero)
        case .failed(let reason):
            // A batch that cannot be recorded is still there; everything else is a node that does not give.
            if action == .take || action == .subscribe { interruption = interruption ?? .outage }
            fail(reason)
        case .missed:
            // The node keeps less than the operator says; some versions ignore what they are told (nwaku #3444).
            if largestBatchCount >= Self.smallestCacheCapacity { overflowCount = min(overflowCount, largestBatchCount) }
        }
    }

    private mutating func next(_ action: Action, after delay: Duration) {
        self.action = action
        self.delay = delay
    }

    private mutating func succeed() {
        trouble = nil
        retryDelay = interval
    }

    /// The same action again, later and later.
    private mutating func fail(_ reason: String) {
        trouble = reason
        delay = retryDelay
        retryDelay = min(retryDelay * 2, Self.maximumDelay)
    }
}
