package import Engine
import Envelope
package import MetricDeclarations
package import Transport

/// The metrics that the server reads at each scrape, without the store's.
package struct Gauges: Sendable {
    private let engine: Engine
    private let waku: WakuTransport?
    private let topics: PrometheusValue
    private let inFlight: PrometheusValue
    private let replies: PrometheusValue
    private let lastMessageAge: PrometheusValue
    private let lostLogLines: PrometheusValue
    private let ready: PrometheusValue
    private let wallClock: PrometheusValue
    private let notReady: [NotReadyCause: PrometheusValue]
    private let issues: @Sendable () -> [Condition]

    package init(
        engine: Engine, waku: WakuTransport?, openFileLimit: Int, registry: PrometheusRegistry,
        issues: @escaping @Sendable () -> [Condition]
    ) {
        self.engine = engine
        self.waku = waku
        self.issues = issues
        notReady = registry.values(of: Self.notReady, by: NotReadyCause.self)
        lastMessageAge = registry.value(of: Self.lastMessageAge)
        ready = registry.value(of: Self.ready)
        wallClock = registry.value(of: Self.wallClock)
        topics = registry.value(of: Self.topics)
        inFlight = registry.value(of: Self.inFlight)
        replies = registry.value(of: Self.replies)
        lostLogLines = registry.value(of: Self.lostLogLines)
        registry.value(of: Self.openFileLimit).set(Double(openFileLimit))
    }

    package func refresh() {
        let causes = Set(issues().map(NotReadyCause.init))
        ready.set(causes.isEmpty ? 1.0 : 0.0)
        for (cause, value) in notReady { value.set(causes.contains(cause) ? 1.0 : 0.0) }
        wallClock.set(Double(WallClock.system.now().nanoseconds) / 1e9)
        waku?.refreshGauges()
        topics.set(Double(engine.queryTopicCount))
        lostLogLines.set(Double(LogOutput.standardError.lostLineCount))
        inFlight.set(Double(engine.inFlightCount))
        replies.set(Double(engine.waitingReplyCount))
        if let age = engine.intake.lastMessageAge { lastMessageAge.set(age / .seconds(1)) }
    }
}

/// A reason why a server is not ready, as a label by which alerts about what follows from it stay silent.
private enum NotReadyCause: String, MetricLabels {
    case node
    case store
    case gorush
    case provider
    case clock
    case other

    static let labelNames = ["cause"]

    init(_ condition: Condition) { self = Self(rawValue: condition.kind) ?? .other }
}

extension Gauges {
    package static let declarations = [ready, notReady, wallClock, topics, inFlight, replies, lastMessageAge, lostLogLines, openFileLimit]

    private static let ready = Metric(
        .gauge, "pushserver_ready", help: "Whether the server is ready, as GET /health/ready reports.")
    private static let notReady = Metric(
        .gauge, "pushserver_not_ready", by: NotReadyCause.self, help: "Whether the server is not ready for this cause.")
    private static let wallClock = Metric(
        .gauge, "pushserver_wall_clock_seconds", help: "Time of the system's clock at the scrape, since 1970.")
    private static let topics = Metric(
        .gauge, "pushserver_topic_directory_entries",
        help: "Entries in the topic directory: two for each registration that this server knows.")
    private static let inFlight = Metric(
        .gauge, "pushserver_messages_in_flight",
        help: "Messages and replies in memory, and published replies without a publication mark.")
    private static let replies = Metric(
        .gauge, "pushserver_replies_waiting", help: "Replies that are not marked as published, in memory or not.")
    private static let lastMessageAge = Metric(
        .gauge, "pushserver_last_message_age_seconds",
        help: "Time since the server last recorded a new message; missing before the first one.")
    private static let lostLogLines = Metric(
        .counter, "pushserver_log_lines_lost_total", help: "Log lines that could not be written.")
    private static let openFileLimit = Metric(
        .gauge, "pushserver_open_files_limit", help: "Limit of open files that the server plans with.")
}
