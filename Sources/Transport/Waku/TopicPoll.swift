import Envelope

/// Decides what to do next about one pubsub topic of a node: a value, told what happened.
struct TopicPoll {
    enum Action: Equatable {
        /// Take what the node has.
        case take
        /// The node does not know the topic (any more): it was restarted, or is new.
        case subscribe
        /// Offer this batch to the receiver. The node has forgotten it, so nothing else is taken until it is accepted.
        case offer([WakuEnvelope])
    }

    enum Event {
        case took([WakuEnvelope])
        case notSubscribed
        case subscribed
        case accepted
        /// The action failed, for a reason in an operator's words.
        case failed(String)
    }

    /// Long enough to spare a node that is down, short enough to lose little of its cache when it is back.
    static let maximumDelay = Duration.seconds(10)

    private let interval: Duration
    /// Doubles from failure to failure.
    private var retryDelay: Duration
    /// The node did not know the topic although it was just subscribed.
    private var hasSubscribed = false

    private(set) var action = Action.take
    /// To be waited before the action.
    private(set) var delay = Duration.zero
    /// Why nothing can be received at the moment.
    private(set) var trouble: String? = "not polled yet"

    init(interval: Duration) {
        self.interval = interval
        retryDelay = interval
    }

    mutating func note(_ event: Event) {
        switch event {
        case .took(let batch):
            succeed()
            hasSubscribed = false
            next(batch.isEmpty ? .take : .offer(batch), after: batch.isEmpty ? interval : .zero)
        case .accepted:
            succeed()
            next(.take, after: interval)
        case .notSubscribed where hasSubscribed:
            hasSubscribed = false
            fail("the node does not keep the subscription")
            action = .take
        case .notSubscribed:
            next(.subscribe, after: .zero)
        case .subscribed:
            hasSubscribed = true
            next(.take, after: .zero)
        case .failed(let reason):
            fail(reason)
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
