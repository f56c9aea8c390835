import Logging
import Synchronization

/// A node's status, readable at any time. Times count from the start and are monotonic, so an age is right whatever the wall clock does.
final class WakuStatus: Sendable {
    private struct State {
        /// Issues by subject: a pubsub topic, its history, the node's health, publishing.
        var healthIssues: [String: String]
        /// Conditions that leave the node usable, by subject: the node's health, a topic's store.
        var warnings: [String: String] = [:]
        /// The node's connection to its network, in its own words.
        var connection: String?
        /// Whether the node says that it runs without a store.
        var lacksStore = false
        /// How far the node's clock is ahead of the server's, or nil if it does not show that.
        var clockDifference: Duration?
        var polls: [String: Duration] = [:]
        var checkpoints: [String: Duration] = [:]
        /// The time of the topic's newest message or, before the first message, of its first poll.
        var messages: [String: Duration] = [:]
        /// Topics with at least one message.
        var spokenOn: Set<String> = []
        /// The number of gaps since the start, without the gap that each start has.
        var gapCount = 0
        /// When the node's store last had messages on the topic that the node did not deliver, although its cache cannot have been full.
        var losses: [String: Duration] = [:]
    }

    /// The duration of silence after which a shard is hardly in use: the server's own replies are messages on it.
    static let silenceLimit = Duration.seconds(3_600)
    /// How long the warning about another reader lasts. The store is compared each minute, so a persistent reader is detected again and
    /// again.
    static let lossLifetime = Duration.seconds(600)

    /// The subject of warnings about the node's own store.
    static let storeSubject = "store"

    static func historySubject(_ topic: String) -> String { "history of \(topic)" }

    private let state: Mutex<State>
    private let quietTopics: Set<String>
    private let logger: Logger

    /// - Parameter quietTopics: The topics on which silence is no warning.
    init(node: String, pubsubTopics: [String], quietTopics: Set<String> = [], logger: Logger) {
        var logger = logger
        logger[metadataKey: "node"] = "\(node)"
        self.logger = logger
        self.quietTopics = quietTopics
        state = Mutex(State(healthIssues: Dictionary(pubsubTopics.map { ($0, Self.notPolledIssue) }) { first, _ in first }))
    }

    /// The reasons why the node is not usable, each once with all its subjects.
    var healthIssues: [String] {
        let issues = state.withLock(\.healthIssues)
        return Dictionary(grouping: issues.keys.sorted()) { issues[$0] ?? "" }.map { "\($1.joined(separator: ", ")): \($0)" }.sorted()
    }

    func hasIssue(about subject: String) -> Bool { state.withLock { $0.healthIssues[subject] != nil } }

    /// When the least recently polled topic was last polled, or nil before the first poll.
    var oldestPoll: Duration? { state.withLock { $0.polls.values.min() } }

    /// When the newest message on any topic arrived, or nil before the first.
    var lastMessage: Duration? { state.withLock { state in state.spokenOn.compactMap { state.messages[$0] }.max() } }

    /// The number of gaps since the start, without the gap that each start has.
    var gapCount: Int { state.withLock { $0.gapCount } }

    func foundGap() { state.withLock { $0.gapCount += 1 } }

    /// The oldest history checkpoint among the topics, or nil before the first. It may be before the start.
    var oldestCheckpoint: Duration? { state.withLock { $0.checkpoints.values.min() } }

    /// Returns problems that leave the node usable.
    func warnings(at now: Duration) -> [String] {
        state.withLock { state in
            let silent = state.messages.filter { topic, since in
                now - since >= Self.silenceLimit && !quietTopics.contains(topic)
            }.map { topic, since in
                let minutes = (now - since).components.seconds / 60
                return state.spokenOn.contains(topic)
                    ? "\(topic): no message for \(minutes) minutes"
                    : "\(topic): no message yet, for \(minutes) minutes: check that clients use this shard"
            }
            let lost = state.losses.filter { now - $0.value < Self.lossLifetime }.map { topic, _ in
                "\(topic): \(Self.otherReader)"
            }
            // A history that cannot be read says more than a missing store.
            let warnings = state.warnings.filter { subject, _ in
                subject != Self.storeSubject || !state.healthIssues.keys.contains { $0.hasPrefix(Self.historySubject("")) }
            }
            return warnings.sorted { $0.key < $1.key }.map { "\($0): \($1)" } + silent.sorted() + lost.sorted()
        }
    }

    func polled(_ topic: String, messageCount: Int, at now: Duration) {
        state.withLock { state in
            state.polls[topic] = now
            if messageCount > 0 { state.spokenOn.insert(topic) }
            if messageCount > 0 || state.messages[topic] == nil { state.messages[topic] = now }
        }
    }

    func lostMessages(of topic: String, at now: Duration) {
        let previous = state.withLock { $0.losses.updateValue(now, forKey: topic) }
        guard previous.map({ now - $0 > Self.lossLifetime }) ?? true else { return }
        logger.warning(
            "found missed messages without an overflow or outage", metadata: ["topic": "\(topic)", "cause": "\(Self.otherReader)"])
    }

    private static let otherReader = """
        the node's store has messages that the node did not deliver, although its cache cannot have been full: another program reads from \
        this node, which must serve this server only, or the node was just restarted
        """

    /// - Parameter checkpoint: The checkpoint as a time since the start.
    func saved(_ checkpoint: Duration, of topic: String) { state.withLock { $0.checkpoints[topic] = checkpoint } }

    /// The node's connection to its network, in its own words, or nil if it reports none.
    var connection: String? {
        get { state.withLock { $0.connection } }
        set { state.withLock { $0.connection = newValue } }
    }

    /// Whether the node says that it runs without a store.
    var lacksStore: Bool {
        get { state.withLock { $0.lacksStore } }
        set { state.withLock { $0.lacksStore = newValue } }
    }

    /// How far the node's clock is ahead of the server's, to the second, or nil if it does not show that.
    var clockDifference: Duration? {
        get { state.withLock { $0.clockDifference } }
        set { state.withLock { $0.clockDifference = newValue } }
    }

    /// Records a warning, or its end with nil.
    ///
    /// - Parameter isLogged: Whether changes are logged. False for a condition that may change every few seconds.
    func warn(_ warning: String?, about subject: String, isLogged: Bool = true) {
        let previous = state.withLock { state in
            let previous = state.warnings[subject]
            state.warnings[subject] = warning
            return previous
        }
        guard isLogged, previous != warning else { return }
        if let warning {
            logger.warning("warning about the node", metadata: ["subject": "\(subject)", "warning": "\(warning)"])
        } else {
            logger.warning("warning about the node ended", metadata: ["subject": "\(subject)"])
        }
    }

    /// Records an issue, or its end with nil, and logs each change once. An issue's start and end have the same level. A subject without an
    /// issue since the start is usable, which is a notice.
    func report(_ issue: String?, about subject: String) {
        let previous = state.withLock { state in
            let previous = state.healthIssues[subject]
            state.healthIssues[subject] = issue
            return previous
        }
        guard previous != issue else { return }
        if let issue {
            logger.warning("node unusable", metadata: ["subject": "\(subject)", "reason": "\(issue)"])
        } else if previous == Self.notPolledIssue {
            logger.notice("the node is usable", metadata: ["subject": "\(subject)"])
        } else {
            logger.warning("node usable again", metadata: ["subject": "\(subject)"])
        }
    }

    /// Each topic's state before the first poll.
    private static let notPolledIssue = "not polled yet"
}
