import Envelope
import Logging
import Synchronization

/// A node's status, readable at any time.
final class WakuStatus: Sendable {
    private struct State {
        /// Issues by subject: a pubsub topic, its history, the node's health, publishing.
        var healthIssues: [String: String]
        /// Conditions that leave the node usable, by subject: the node's health, a topic's store, late messages.
        var warnings: [String: String] = [:]
        /// The node's connection to its network, in its own words.
        var connection: String?
        /// Whether the node says that it runs without a store.
        var lacksStore = false
        var polls: [String: Timestamp] = [:]
        var checkpoints: [String: Timestamp] = [:]
        /// The time of the topic's newest message or, before the first message, of its first poll.
        var messages: [String: Timestamp] = [:]
        /// Topics with at least one message.
        var spokenOn: Set<String> = []
        /// The number of gaps since the start, without the gap that each start has.
        var gapCount = 0
        /// When the node's store last had messages on the topic that the node did not deliver, although its cache cannot have been full.
        var losses: [String: Timestamp] = [:]
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

    var healthIssues: [String] {
        state.withLock { $0.healthIssues.sorted { $0.key < $1.key }.map { "\($0): \($1)" } }
    }

    func hasIssue(about subject: String) -> Bool { state.withLock { $0.healthIssues[subject] != nil } }

    /// When the least recently polled topic was last polled, or nil before the first poll.
    var oldestPoll: Timestamp? { state.withLock { $0.polls.values.min() } }

    /// When the newest message on any topic arrived, or nil before the first.
    var lastMessage: Timestamp? { state.withLock { state in state.spokenOn.compactMap { state.messages[$0] }.max() } }

    /// The number of gaps since the start, without the gap that each start has.
    var gapCount: Int { state.withLock { $0.gapCount } }

    func foundGap() { state.withLock { $0.gapCount += 1 } }

    /// The oldest history checkpoint among the topics, or nil before the first.
    var oldestCheckpoint: Timestamp? { state.withLock { $0.checkpoints.values.min() } }

    /// Returns problems that leave the node usable.
    func warnings(at now: Timestamp) -> [String] {
        state.withLock { state in
            let silent = state.messages.filter { topic, since in
                since <= now.advanced(by: .zero - Self.silenceLimit) && !quietTopics.contains(topic)
            }.map { topic, since in
                let minutes = (now.nanoseconds - since.nanoseconds) / 60_000_000_000
                return state.spokenOn.contains(topic)
                    ? "\(topic): no message for \(minutes) minutes"
                    : "\(topic): no message yet, for \(minutes) minutes: check that clients use this shard"
            }
            let lost = state.losses.filter { $0.value > now.advanced(by: .zero - Self.lossLifetime) }.map { topic, _ in
                "\(topic): \(Self.otherReader)"
            }
            // A history that cannot be read says more than a missing store.
            let warnings = state.warnings.filter { subject, _ in
                subject != Self.storeSubject || !state.healthIssues.keys.contains { $0.hasPrefix(Self.historySubject("")) }
            }
            return warnings.sorted { $0.key < $1.key }.map { "\($0): \($1)" } + silent.sorted() + lost.sorted()
        }
    }

    func polled(_ topic: String, messageCount: Int, at now: Timestamp) {
        state.withLock { state in
            state.polls[topic] = now
            if messageCount > 0 { state.spokenOn.insert(topic) }
            if messageCount > 0 || state.messages[topic] == nil { state.messages[topic] = now }
        }
    }

    func lostMessages(of topic: String, at now: Timestamp) {
        let previous = state.withLock { $0.losses.updateValue(now, forKey: topic) }
        guard previous.map({ $0 < now.advanced(by: .zero - Self.lossLifetime) }) ?? true else { return }
        logger.warning(
            "found missed messages without an overflow or outage", metadata: ["topic": "\(topic)", "cause": "\(Self.otherReader)"])
    }

    private static let otherReader = """
        the node's store has messages that the node did not deliver, although its cache cannot have been full: another program reads from \
        this node, which must serve this server only, or the node was just restarted
        """

    func saved(_ checkpoint: Timestamp, of topic: String) { state.withLock { $0.checkpoints[topic] = checkpoint } }

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
