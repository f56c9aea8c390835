import Bytes
import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Synchronization
import Tasks
import WakuREST
import Wire

/// The link to a node: polls each pubsub topic, fills gaps from the node's store, and watches the node's health.
///
/// Each link follows its node's history independently: a node that was down lacks messages in its store that another node has. Only a
/// comparison with every store finds all missed messages.
final class WakuNodeLink: Sendable {
    /// The interval between two health checks: a node's health changes slowly.
    static let healthInterval = Duration.seconds(10)
    /// The interval while the node has no peers: replies wait for their return.
    static let peerlessHealthInterval = Duration.seconds(1)
    /// The number of attempts to record a taken batch during shutdown. After that the next start must find the batch in the node's store.
    static let maximumLastOfferCount = 5

    let node: WakuNode
    /// The node's index among the transport's nodes.
    let index: Int
    let base: WakuSharedState
    let status: WakuStatus
    private let isOnly: Bool
    private let foreign = Mutex(UnwantedMessageCache())

    /// - Parameter isOnly: Whether this is the transport's only node.
    init(node: WakuNode, index: Int, isOnly: Bool, base: WakuSharedState) {
        self.node = node
        self.index = index
        self.isOnly = isOnly
        self.base = base
        status = WakuStatus(
            node: node.name, pubsubTopics: base.configuration.pubsubTopics, quietTopics: base.configuration.quietTopics, logger: base.logger
        )
    }

    func run(receiver: any EnvelopeReceiver) async {
        let topics = base.configuration.pubsubTopics.map { topic in
            (topic, TopicSignals(watchesStore: base.configuration.watchesStore, pollInterval: base.configuration.pollInterval))
        }
        await withDiscardingTaskGroup { group in
            group.addTask { await self.watchHealth(receiver, topics.map(\.1)) }
            for (topic, signals) in topics {
                group.addTask { await self.poll(topic, receiver, signals) }
                if base.configuration.usesHistory { group.addTask { await self.followHistory(of: topic, receiver, signals) } }
            }
        }
    }

    /// The name of the node in its checkpoints, or nil if it is the only one. Each of several nodes has its own: their histories differ.
    var checkpointNode: String? { isOnly ? nil : node.name }

    // MARK: Polling

    private func poll(_ topic: String, _ receiver: any EnvelopeReceiver, _ signals: TopicSignals) async {
        let share = base.configuration.cacheCapacity / max(1, base.configuration.pubsubTopics.count)
        var poll = TopicPoll(
            interval: base.configuration.pollInterval, cacheShare: share, usesHistory: base.configuration.usesHistory)
        var action = poll.action
        while await base.pause(action.delay) {
            let event = if let event = signals.nextForPoll() { event } else { await carryOut(action.work, topic, receiver, signals) }
            action = poll.note(event)
            let wasAway = status.hasIssue(about: topic)
            status.report(action.issue, about: topic)
            // A failure to publish while the node was away does not apply to the node that is back.
            if wasAway, action.issue == nil { status.report(nil, about: "publishing") }
            if let reception = action.reception { signals.signalHistory(reception) }
            if case .gap(let cause) = action.reception { found(cause, on: topic) }
            if action.hasOtherReader {
                status.lostMessages(of: topic, at: base.time.elapsed())
            } else if let count = action.overflowCount {
                base.logger.warning(
                    """
                    found messages that the node's cache dropped; compare transport.waku.cacheCapacity with the node's setting; \
                    treating batches of this size as an overflow
                    """,
                    metadata: ["node": "\(node.name)", "topic": "\(topic)", "count": "\(count)"])
            }
        }
        if case .offer(let batch) = action.work { await offerLast(batch, receiver) }
    }

    private func noteReception(on topic: String, at now: Timestamp) {
        if base.configuration.usesHistory { base.receptions.withLock { $0[topic]?.received(at: base.time.elapsed(), now) } }
    }

    private func found(_ gap: Gap, on topic: String) {
        base.metrics.count(gap)
        if gap != .start { status.foundGap() }
        base.logger.notice("messages may have been missed", metadata: ["node": "\(node.name)", "topic": "\(topic)", "cause": "\(gap)"])
    }

    private func carryOut(
        _ work: TopicPoll.Work, _ topic: String, _ receiver: any EnvelopeReceiver, _ signals: TopicSignals
    ) async -> TopicPoll.Event {
        do {
            switch work {
            case .take:
                return try await take(topic, receiver, signals)
            case .subscribe:
                try await node.subscribe(to: [topic])
                base.logger.notice("subscribed", metadata: ["node": "\(node.name)", "topic": "\(topic)"])
                return .subscribed
            case .offer(let batch):
                try await offer(batch.wanted, hashes: batch.hashes, to: receiver, origin: .live)
                return .accepted
            }
        } catch is Overload {
            return .shed
        } catch {
            if case .offer = work { return .notRecorded }
            if work == .take { base.metrics.count(.failed) }
            return .failed("\(error)")
        }
    }

    private func take(
        _ topic: String, _ receiver: any EnvelopeReceiver, _ signals: TopicSignals
    ) async throws(NodeError) -> TopicPoll.Event {
        let start = base.wallClock.now()
        let taken = try await node.takeMessages(on: topic)
        let end = base.wallClock.now()
        base.metrics.polled(in: start.duration(to: end))
        signals.polled(at: base.time.elapsed(), end)
        guard let envelopes = taken else {
            base.metrics.count(.notSubscribed)
            return .notSubscribed
        }
        if base.selector.read({ $0.isConnected(index) }) { noteReception(on: topic, at: end) }
        base.metrics.count(.succeeded)
        base.metrics.countFetched(envelopes.count, from: .relay)
        status.polled(topic, messageCount: envelopes.count, at: base.time.elapsed())
        let isDiscovered = await receiver.discover { Set(envelopes.map(\.message.contentTopic)).union(foreign.withLock(\.contentTopics)) }
        let isWanted = { (envelope: WakuEnvelope) in !isDiscovered || receiver.isInterested(in: envelope.message.contentTopic) }
        let readable = envelopes.filter { $0.isReadable || !isWanted($0) }
        if readable.count < envelopes.count { receiver.countUnreadable(envelopes.filter { !$0.isReadable }) }
        // Unwanted messages are hashed too: reading them from the store later to learn their hashes would cost more.
        let hashes = readable.map(\.hash)
        signals.watchStore { $0.polled(readable, hashes: hashes, at: end) }
        let late = takeLate(receiver)
        let isNew = base.known.withLock { known in
            var batch: Set<Digest32> = []
            return hashes.map { !known.contains($0) && batch.insert($0).inserted }
        }
        base.metrics.known.increment(by: isNew.count { !$0 })
        let areWanted = readable.map(isWanted)
        foreign.withLock { foreign in
            for (index, envelope) in readable.enumerated() where isNew[index] && !areWanted[index] {
                foreign.add(envelope, hash: hashes[index], at: base.wallClock.now())
            }
        }
        return .took(
            LiveBatch(
                wanted: late.map(\.envelope) + readable.indices.filter { isNew[$0] && areWanted[$0] }.map { readable[$0] },
                hashes: late.map(\.hash) + hashes, unreadableCount: envelopes.count - readable.count, reconsideredCount: late.count))
    }

    /// Returns messages from earlier batches whose topics have become of interest since, thanks to a registration in the same batch.
    private func takeLate(_ receiver: any EnvelopeReceiver) -> [UnwantedMessageCache.Entry] {
        let late = foreign.withLock { $0.take(at: base.wallClock.now()) { receiver.isInterested(in: $0) } }
        if !late.isEmpty { base.known.withLock { $0.remove(late.map(\.hash)) } }
        return late
    }

    /// Records hashes as known only after the receiver has accepted the messages: the history must find rejected messages missing, and must
    /// not move the checkpoint past them.
    func offer(
        _ envelopes: [WakuEnvelope], hashes: [Digest32], to receiver: any EnvelopeReceiver, origin: EnvelopeOrigin
    ) async throws {
        if !envelopes.isEmpty { try await receiver.receive(envelopes, origin: origin) }
        base.known.withLock { $0.insert(hashes, at: base.wallClock.now()) }
    }

    /// Makes a last attempt to record a batch that the node has already dropped, so that the next start does not depend on the node's
    /// store.
    private func offerLast(_ batch: LiveBatch, _ receiver: any EnvelopeReceiver) async {
        for _ in 1...Self.maximumLastOfferCount {
            do {
                return try await offer(batch.wanted, hashes: batch.hashes, to: receiver, origin: .live)
            } catch {
                try? await base.clock.sleep(for: base.configuration.pollInterval)
            }
        }
        base.logger.error("failed to record messages from the node", metadata: ["count": "\(batch.wanted.count)"])
    }

    // MARK: Health

    private func watchHealth(_ receiver: any EnvelopeReceiver, _ signals: [TopicSignals]) async {
        var delay = Duration.zero
        var wasPeerless = false
        while await base.pause(delay) {
            // The polls report an unreachable node.
            let reading = try? await node.health()
            let health = reading ?? NodeHealth()
            status.report(health.issues.isEmpty ? nil : health.issues.joined(separator: "; "), about: "health")
            status.warn(health.warnings.isEmpty ? nil : health.warnings.joined(separator: "; "), about: "health", isLogged: false)
            status.connection = health.connection
            status.lacksStore = health.lacksStore
            status.clockDifference = health.time.map { base.wallClock.now().duration(to: $0) }
            status.warn(health.lacksStore && base.configuration.watchesStore ? Self.noStore : nil, about: WakuStatus.storeSubject)
            let lost = setConnected(health.hasPeers)
            for message in lost { message.reportLoss() }
            if let reading, reading.hasPeers == wasPeerless {
                wasPeerless = !reading.hasPeers
                if reading.hasPeers {
                    for topic in base.configuration.pubsubTopics { noteReception(on: topic, at: base.wallClock.now()) }
                }
                for signals in signals { signals.setPeers(reading.hasPeers) }
                if reading.hasPeers {
                    for topic in base.configuration.pubsubTopics { found(.peerless, on: topic) }
                    receiver.networkReturned()
                }
            }
            delay = health.hasPeers ? Self.healthInterval : Self.peerlessHealthInterval
        }
    }

    private static let noStore = """
        the node has no store of its own, so its history comes from any connected peer that has one; start it with --store=true
        """

    /// - Returns: The messages that are lost, because the node accepted them when it may already have had no peers.
    private func setConnected(_ isConnected: Bool) -> [AcceptedMessages.Entry] {
        let now = base.time.elapsed()
        let lost = base.selector.update { [index] in $0.setConnected(isConnected, index, at: now) }
        if !lost.isEmpty {
            base.logger.warning(
                "the node has no peers; publishing its last messages again",
                metadata: ["node": "\(node.name)", "messages": "\(lost.count)"])
        }
        return lost
    }
}
