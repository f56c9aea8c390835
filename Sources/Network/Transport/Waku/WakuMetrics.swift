import CoreMetrics
package import MetricDeclarations

/// The Waku transport's metrics, created once. Labels are a fixed set, so no text from a peer or node becomes a label.
package struct WakuMetrics: Sendable {
    enum PollOutcome: String, MetricLabels {
        case succeeded
        case notSubscribed = "not_subscribed"
        case failed

        static let labelNames = ["outcome"]
    }

    enum Source: String, MetricLabels {
        case relay
        case store

        static let labelNames = ["source"]
    }

    private let fetched = Self.fetchedMessages.counters(by: Source.self)
    private let polls = Self.polls.counters(by: PollOutcome.self)
    private let pollTime = Self.pollSeconds.timer()
    private let gapsFound = Self.gapsFound.counters(by: Gap.self)
    private let publishFailures = Self.publishFailures.counters(by: PublishFailure.self)
    let gapsFilled = Self.gapsFilled.counter()
    let recovered = Self.recoveredMessages.counter()
    let known = Self.knownMessages.counter()
    let historyFailures = Self.historyFailures.counter()
    let published = Self.publishedMessages.counter()
    let publishQueueDepth = Self.publishQueueDepth.gauge()
    let lastPollAge = Self.lastPollAge.gauge()
    let checkpointAge = Self.checkpointAge.gauge()
    let comparedPeriod = Self.comparedPeriod.gauge()
    /// A gauge for each node: 1 while it is free of issues.
    let nodesUp: [Meter]

    /// - Parameter nodes: The nodes' names.
    init(nodes: [String]) { nodesUp = nodes.map { Self.nodeUp.gauge($0) } }

    func count(_ outcome: PollOutcome) { polls[outcome]?.increment() }
    func polled(in duration: Duration) { pollTime.record(duration) }
    func count(_ gap: Gap) { gapsFound[gap]?.increment() }
    func count(_ failure: PublishFailure) { publishFailures[failure]?.increment() }
    func countFetched(_ count: Int, from source: Source) { fetched[source]?.increment(by: count) }
}

extension WakuMetrics {
    package static let declarations = [
        nodeUp, fetchedMessages, knownMessages, publishedMessages, polls, pollSeconds, lastPollAge, publishFailures,
        publishQueueDepth, historyFailures, gapsFound, gapsFilled, recoveredMessages, comparedPeriod, checkpointAge,
    ]

    private static let nodeUp = Metric(
        .gauge, "pushserver_node_up", configuredLabels: ["node"], help: "Whether the node has no issue.")
    private static let fetchedMessages = Metric(
        .counter, "pushserver_node_messages_fetched_total", by: Source.self,
        help: "Messages in the nodes' responses, unwanted ones included; of the store, only those fetched with their data.")
    private static let knownMessages = Metric(
        .counter, "pushserver_node_messages_known_total", help: "Messages from the nodes that were repeated, or the server's own.")
    private static let publishedMessages = Metric(
        .counter, "pushserver_node_messages_published_total", help: "Messages that a node accepted.")
    private static let polls = Metric(
        .counter, "pushserver_node_polls_total", by: PollOutcome.self, help: "Polls of the nodes, by outcome.")
    private static let pollSeconds = Metric(
        .histogram(bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]), "pushserver_node_poll_seconds",
        help: "Duration of a poll that the node responded to.")
    private static let lastPollAge = Metric(
        .gauge, "pushserver_node_last_poll_age_seconds",
        help: "Time since the last poll of the topic that was polled longest ago, at the best node.")
    private static let publishFailures = Metric(
        .counter, "pushserver_node_publish_failures_total", by: PublishFailure.self,
        help: "Failed attempts to publish a message, by reason.")
    private static let publishQueueDepth = Metric(
        .gauge, "pushserver_node_publish_queue_depth", help: "Messages that wait for a node or are being posted to one.")
    private static let historyFailures = Metric(
        .counter, "pushserver_node_history_failures_total", help: "Failed steps of the backfill from a node's store.")
    private static let gapsFound = Metric(
        .counter, "pushserver_gaps_found_total", by: Gap.self,
        help: "Gaps in which live messages may have been missed, by cause; each start has one.")
    private static let gapsFilled = Metric(.counter, "pushserver_gaps_filled_total", help: "Gaps that the backfill has filled.")
    private static let recoveredMessages = Metric(
        .counter, "pushserver_gap_messages_total", help: "Wanted messages that only a node's store had.")
    private static let comparedPeriod = Metric(
        .gauge, "pushserver_node_compared_period_seconds",
        help: "Period that is compared with a node's store every five minutes: 4,200, or less above 233 messages a second.")
    private static let checkpointAge = Metric(
        .gauge, "pushserver_checkpoint_age_seconds", help: "Age of the oldest history checkpoint, at the best node.")
}
