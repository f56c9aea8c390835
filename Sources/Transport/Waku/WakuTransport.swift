import Concurrency
import CoreMetrics
package import Envelope
package import Logging
import ServiceLifecycle
import StatusCrypto
import Synchronization
package import WakuREST
import Wire

/// The server's transport over the REST API of a Waku node: polls each pubsub topic, closes gaps from the node's store, and publishes one
/// message at a time (WAKU_REST.md §3).
package final class WakuTransport: MessageTransport {
    package struct Configuration: Sendable {
        package var pubsubTopics: [String]
        /// At most half of what it takes to fill the node's cache at the busiest time (WAKU_REST.md §3).
        package var pollInterval: Duration
        /// What the node was started with: `--rest-relay-cache-capacity`.
        package var cacheCapacity: Int
        /// Whether gaps are closed from the node's store.
        package var usesHistory: Bool
        /// Another node whose store is asked, through the node: a multiaddress. Nil: the node's own store.
        package var storePeerAddress: String?
        /// Whether published messages are looked for in the store, and published again when they are not there.
        package var confirmsPublishing: Bool

        package init(
            pubsubTopics: [String], pollInterval: Duration = .milliseconds(500), cacheCapacity: Int = 4_096, usesHistory: Bool = true,
            storePeerAddress: String? = nil, confirmsPublishing: Bool = false
        ) {
            self.pubsubTopics = pubsubTopics
            self.pollInterval = pollInterval
            self.cacheCapacity = cacheCapacity
            self.usesHistory = usesHistory
            self.storePeerAddress = storePeerAddress
            self.confirmsPublishing = confirmsPublishing
        }
    }

    /// A node's health changes slowly, and matters only to whoever reads it.
    static let healthInterval = Duration.seconds(10)
    /// A batch that cannot be recorded while the server stops is offered so often; then the next start has to find it in the store.
    static let maximumLastOfferCount = 5

    let node: WakuNode
    let configuration: Configuration
    let checkpoints: any CheckpointKeeper
    let clock: any Clock<Duration>
    let wallClock: WallClock
    let jitter: @Sendable () -> Double
    let logger: Logger
    let metrics = WakuMetrics()
    let status: WakuStatus
    let known = Mutex(SeenCache())

    // Publishing
    let publishing = AsyncMutex()
    let backlog = Mutex(PublishBacklog())
    let confirmations = Mutex(Confirmations())

    /// - Parameter jitter: random, 0 up to 1.
    package init(
        node: WakuNode, configuration: Configuration, checkpoints: any CheckpointKeeper, clock: any Clock<Duration> = ContinuousClock(),
        wallClock: WallClock, jitter: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        self.node = node
        self.configuration = configuration
        self.checkpoints = checkpoints
        self.clock = clock
        self.wallClock = wallClock
        self.jitter = jitter
        self.logger = logger
        status = WakuStatus(pubsubTopics: configuration.pubsubTopics, logger: logger)
    }

    package func run(receiver: any EnvelopeReceiver) async throws {
        if !configuration.usesHistory { logger.notice("the node's store is not used: what is missed in a gap is lost") }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchHealth() }
            if configuration.confirmsPublishing { group.addTask { await self.confirmPublished() } }
            for topic in configuration.pubsubTopics {
                let news = TopicNews()
                group.addTask { await self.poll(topic, receiver, news) }
                if configuration.usesHistory { group.addTask { await self.followHistory(of: topic, receiver, news) } }
            }
        }
    }

    package var troubles: [String] { status.troubles }

    /// Sets the metrics that age: to be called before they are read.
    package func refreshGauges() {
        let now = wallClock.now()
        metrics.publishQueueDepth.set(backlog.withLock { $0.count })
        if let oldest = status.oldestPoll { metrics.lastPollAge.set(now.seconds(since: oldest)) }
        if let oldest = status.oldestCheckpoint { metrics.checkpointAge.set(now.seconds(since: oldest)) }
    }

    // MARK: Polling

    private func poll(_ topic: String, _ receiver: any EnvelopeReceiver, _ news: TopicNews) async {
        let share = configuration.cacheCapacity / max(1, configuration.pubsubTopics.count)
        var poll = TopicPoll(interval: configuration.pollInterval, cacheShare: share)
        var action = poll.action
        while await pause(action.delay) {
            let event = if let event = news.nextForPoll() { event } else { await carryOut(action.work, topic, receiver) }
            action = poll.note(event)
            status.report(action.trouble, about: topic)
            if let reception = action.reception { news.tellHistory(reception) }
            if case .gap(let cause) = action.reception {
                metrics.count(cause)
                logger.notice("messages may have been missed", metadata: ["topic": "\(topic)", "cause": "\(cause)"])
            }
            if let count = action.overflowCount {
                logger.warning(
                    """
                    the node's store had messages that its cache did not give; is transport.waku.cacheCapacity what the node has? \
                    Batches of so many are taken for an overflow from now on
                    """,
                    metadata: ["topic": "\(topic)", "count": "\(count)"])
            }
        }
        if case .offer(let batch) = action.work { await offerLast(batch, receiver) }
    }

    private func carryOut(_ work: TopicPoll.Work, _ topic: String, _ receiver: any EnvelopeReceiver) async -> TopicPoll.Event {
        do {
            switch work {
            case .take:
                return try await take(topic, receiver)
            case .subscribe:
                try await node.subscribe(to: [topic])
                logger.notice("subscribed", metadata: ["topic": "\(topic)"])
                return .subscribed
            case .offer(let batch):
                try await offer(batch.wanted, hashes: batch.hashes, to: receiver, origin: .live)
                return .accepted
            }
        } catch {
            if work == .take { metrics.count(.failed) }
            return .failed("\(error)")
        }
    }

    private func take(_ topic: String, _ receiver: any EnvelopeReceiver) async throws(NodeError) -> TopicPoll.Event {
        guard let envelopes = try await node.takeMessages(on: topic) else {
            metrics.count(.notSubscribed)
            return .notSubscribed
        }
        metrics.count(.taken)
        metrics.countFetched(envelopes.count, from: .relay)
        status.polled(topic, at: wallClock.now())
        // Foreign messages too: reading them once more from the store to learn their hashes would cost more than computing them.
        let hashes = envelopes.map(\.hash)
        let isNew = known.withLock { known in
            var batch: Set<Digest32> = []
            return hashes.map { !known.contains($0) && batch.insert($0).inserted }
        }
        metrics.known.increment(by: isNew.count { !$0 })
        let wanted = zip(envelopes, isNew).filter { $1 && receiver.wants(contentTopic: $0.message.contentTopic) }.map(\.0)
        return .took(LiveBatch(wanted: wanted, hashes: hashes))
    }

    /// Known is only what the receiver has accepted: until then the history would find it missing, and hold the checkpoint.
    func offer(
        _ envelopes: [WakuEnvelope], hashes: [Digest32], to receiver: any EnvelopeReceiver, origin: EnvelopeOrigin
    ) async throws {
        if !envelopes.isEmpty { try await receiver.receive(envelopes, origin: origin) }
        known.withLock { $0.insert(hashes) }
    }

    /// The node has forgotten the batch: the last chance to record it, if the next start is not to depend on the store.
    private func offerLast(_ batch: LiveBatch, _ receiver: any EnvelopeReceiver) async {
        for _ in 1...Self.maximumLastOfferCount {
            do {
                return try await offer(batch.wanted, hashes: batch.hashes, to: receiver, origin: .live)
            } catch {
                try? await clock.sleep(for: configuration.pollInterval)
            }
        }
        logger.error("messages taken from the node were not recorded", metadata: ["count": "\(batch.wanted.count)"])
    }

    private func watchHealth() async {
        var delay = Duration.zero
        while await pause(delay) {
            // A node that cannot be reached is the polls' trouble already.
            let troubles = (try? await node.healthTroubles()) ?? []
            status.report(troubles.isEmpty ? nil : troubles.joined(separator: "; "), about: "health")
            delay = Self.healthInterval
        }
    }

    // MARK: Time

    /// Waits between actions, never during one: what a GET has taken from the node is gone if nobody reads the answer.
    ///
    /// - Returns: false when it is time to end.
    func pause(_ duration: Duration) async -> Bool {
        if duration > .zero { try? await cancelWhenGracefulShutdown { [clock] in try await clock.sleep(for: duration) } }
        return !Task.isCancelled && !Task.isShuttingDownGracefully
    }
}

extension Timestamp {
    fileprivate func seconds(since earlier: Timestamp) -> Double {
        Double(nanoseconds - earlier.nanoseconds) / 1e9
    }
}
