import CoreMetrics

/// The metrics of the Waku transport, created once. Labels are a fixed set: no text of a peer or node becomes one.
struct WakuMetrics: Sendable {
    enum PollOutcome: String, CaseIterable {
        case taken
        case notSubscribed = "not_subscribed"
        case failed
    }

    enum Source: String, CaseIterable {
        case relay
        case store
    }

    /// Messages in a node's responses, including unwanted ones; of the store, only those fetched with their data.
    private let fetched: [Source: Counter]
    private let polls: [PollOutcome: Counter]
    private let gapsFound: [Gap: Counter]
    let gapsFilled = Counter(label: "pushserver_waku_gaps_filled_total")
    /// Wanted messages that only the store had.
    let recovered = Counter(label: "pushserver_waku_messages_recovered_total")
    /// Repeated messages, and the server's own.
    let known = Counter(label: "pushserver_waku_messages_known_total")
    let historyFailures = Counter(label: "pushserver_waku_history_failures_total")
    private let publishFailures: [PublishFailure: Counter]
    let published = Counter(label: "pushserver_waku_messages_published_total")
    let unconfirmed = Counter(label: "pushserver_waku_messages_unconfirmed_total")

    let publishQueueDepth = Meter(label: "pushserver_waku_publish_queue_depth")
    /// The age of the oldest last poll among the topics.
    let lastPollAge = Meter(label: "pushserver_waku_last_poll_age_seconds")
    /// The age of the oldest checkpoint among the topics.
    let checkpointAge = Meter(label: "pushserver_waku_checkpoint_age_seconds")

    init() {
        fetched = Self.counters("pushserver_waku_messages_fetched_total", by: "source")
        polls = Self.counters("pushserver_waku_polls_total", by: "outcome")
        gapsFound = Self.counters("pushserver_waku_gaps_found_total", by: "cause")
        publishFailures = Self.counters("pushserver_waku_publish_failures_total", by: "reason")
    }

    func count(_ outcome: PollOutcome) { polls[outcome]?.increment() }
    func count(_ gap: Gap) { gapsFound[gap]?.increment() }
    func count(_ failure: PublishFailure) { publishFailures[failure]?.increment() }
    func countFetched(_ count: Int, from source: Source) { fetched[source]?.increment(by: count) }

    private static func counters<Label: RawRepresentable<String> & CaseIterable & Hashable>(
        _ name: String, by dimension: String
    ) -> [Label: Counter] {
        Dictionary(
            uniqueKeysWithValues: Label.allCases.map { ($0, Counter(label: name, dimensions: [(dimension, $0.rawValue)])) })
    }
}
