package import Envelope
package import Logging
import ServiceLifecycle
import Synchronization

/// The server's transport over the REST API of a Waku node: polls each pubsub topic, and publishes one message at a time.
package final class WakuTransport: MessageTransport {
    /// A node's health changes slowly, and matters only to whoever reads it.
    static let healthInterval = Duration.seconds(10)

    private let node: WakuNode
    private let pubsubTopics: [String]
    private let pollInterval: Duration
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let publishing = Turnstile()
    /// By subject: a pubsub topic, or the node itself.
    private let current: Mutex<[String: [String]]>

    /// - Parameter pollInterval: at most half of what it takes to fill the node's cache at the busiest time (WAKU_REST.md §3).
    package init(
        node: WakuNode, pubsubTopics: [String], pollInterval: Duration, clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) {
        self.node = node
        self.pubsubTopics = pubsubTopics
        self.pollInterval = pollInterval
        self.clock = clock
        self.logger = logger
        let initial = TopicPoll(interval: pollInterval).trouble
        current = Mutex(Dictionary(pubsubTopics.map { ($0, initial.map { [$0] } ?? []) }) { first, _ in first })
    }

    package func run(receiver: any EnvelopeReceiver) async throws {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchHealth() }
            for topic in pubsubTopics { group.addTask { await self.poll(topic, receiver) } }
        }
    }

    package func publish(_ envelope: WakuEnvelope) async throws {
        try await publishing.pass { try await node.publish(envelope) }
    }

    package var troubles: [String] {
        current.withLock { current in
            current.sorted { $0.key < $1.key }.flatMap { subject, troubles in troubles.map { "\(subject): \($0)" } }
        }
    }

    private func poll(_ topic: String, _ receiver: any EnvelopeReceiver) async {
        var poll = TopicPoll(interval: pollInterval)
        while await pause(poll.delay) {
            poll.note(await carryOut(poll.action, topic, receiver))
            report(poll.trouble.map { [$0] } ?? [], about: topic)
        }
        if case .offer(let batch) = poll.action {
            logger.error("messages taken from the node were not recorded", metadata: ["count": "\(batch.count)"])
        }
    }

    private func carryOut(_ action: TopicPoll.Action, _ topic: String, _ receiver: any EnvelopeReceiver) async -> TopicPoll.Event {
        do {
            switch action {
            case .take:
                return try await node.takeMessages(on: topic, where: receiver.wants).map { .took($0) } ?? .notSubscribed
            case .subscribe:
                try await node.subscribe(to: [topic])
                logger.notice("subscribed", metadata: ["topic": "\(topic)"])
                return .subscribed
            case .offer(let batch):
                try await receiver.receive(batch)
                return .accepted
            }
        } catch {
            return .failed("\(error)")
        }
    }

    private func watchHealth() async {
        var delay = Duration.zero
        while await pause(delay) {
            // A node that cannot be reached is the polls' trouble already.
            report((try? await node.healthTroubles()) ?? [], about: "health")
            delay = Self.healthInterval
        }
    }

    /// Waits between actions, never during one: what a GET has taken from the node is gone if nobody reads the answer.
    ///
    /// - Returns: false when it is time to end.
    private func pause(_ duration: Duration) async -> Bool {
        if duration > .zero { try? await cancelWhenGracefulShutdown { [clock] in try await clock.sleep(for: duration) } }
        return !Task.isCancelled && !Task.isShuttingDownGracefully
    }

    /// Logs a change once, however often the same trouble comes back.
    private func report(_ troubles: [String], about subject: String) {
        let previous = current.withLock { $0.updateValue(troubles, forKey: subject) } ?? []
        guard previous != troubles else { return }
        if troubles.isEmpty {
            logger.notice("the node is usable", metadata: ["subject": "\(subject)"])
        } else {
            logger.warning("trouble with the node", metadata: ["subject": "\(subject)", "trouble": "\(troubles)"])
        }
    }
}
