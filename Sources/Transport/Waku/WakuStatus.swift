import Envelope
import Logging
import Synchronization

/// What an operator may know about a node at any time.
final class WakuStatus: Sendable {
    private struct State {
        /// By subject: a pubsub topic, its history, the node's health, publishing.
        var troubles: [String: String]
        var polls: [String: Timestamp] = [:]
        var checkpoints: [String: Timestamp] = [:]
    }

    private let state: Mutex<State>
    private let logger: Logger

    init(node: String, pubsubTopics: [String], logger: Logger) {
        var logger = logger
        logger[metadataKey: "node"] = "\(node)"
        self.logger = logger
        state = Mutex(State(troubles: Dictionary(pubsubTopics.map { ($0, "not polled yet") }) { first, _ in first }))
    }

    var troubles: [String] {
        state.withLock { $0.troubles.sorted { $0.key < $1.key }.map { "\($0): \($1)" } }
    }

    func hasTrouble(about subject: String) -> Bool { state.withLock { $0.troubles[subject] != nil } }

    /// When the topic was last polled that has waited longest. Nil before the first poll.
    var oldestPoll: Timestamp? { state.withLock { $0.polls.values.min() } }

    /// Up to when everything is known to have been received.
    var oldestCheckpoint: Timestamp? { state.withLock { $0.checkpoints.values.min() } }

    func polled(_ topic: String, at now: Timestamp) { state.withLock { $0.polls[topic] = now } }

    func saved(_ checkpoint: Timestamp, of topic: String) { state.withLock { $0.checkpoints[topic] = checkpoint } }

    /// Logs a change once, however often the same trouble comes back.
    func report(_ trouble: String?, about subject: String) {
        let previous = state.withLock { state in
            let previous = state.troubles[subject]
            state.troubles[subject] = trouble
            return previous
        }
        guard previous != trouble else { return }
        if let trouble {
            logger.warning("trouble with the node", metadata: ["subject": "\(subject)", "trouble": "\(trouble)"])
        } else {
            logger.notice("the node is usable", metadata: ["subject": "\(subject)"])
        }
    }
}
