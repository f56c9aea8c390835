import CoreMetrics
package import Envelope
import Foundation
package import Logging
import Synchronization
import Tasks
package import WakuREST
import Wire

/// A transport over Waku nodes' REST APIs. Each node is polled and compared separately (`WakuNodeLink`). A message that several nodes
/// deliver is handled once, and to publish a message, a single node suffices (WAKU_REST.md §3).
package final class WakuTransport: MessageTransport {
    package struct Configuration: Sendable {
        package var pubsubTopics: [String]
        /// Topics on which silence is no warning: a shard that few clients use yet, or not any more.
        package var quietTopics: Set<String> = []
        /// The time between two GETs. At most half the time in which the busiest traffic fills the node's cache (WAKU_REST.md §3).
        package var pollInterval: Duration
        /// The node's `--rest-relay-cache-capacity`.
        package var cacheCapacity: Int
        /// Whether gaps are filled from the node's store.
        package var usesHistory: Bool
        /// The multiaddress of another node whose store is queried through the node. Nil uses the node's own store.
        package var storePeerAddress: String?
        /// Whether the node's own store is listed, which shows what it lacks.
        var watchesStore: Bool { usesHistory && storePeerAddress == nil }
        /// The maximum number of POSTs in flight at a node. Nil uses the limit for the node's kind.
        package var maximumPostsInFlight: Int?

        package init(
            pubsubTopics: [String], pollInterval: Duration = .milliseconds(500), cacheCapacity: Int = 4_096, usesHistory: Bool = true,
            storePeerAddress: String? = nil, maximumPostsInFlight: Int? = nil
        ) {
            self.pubsubTopics = pubsubTopics
            self.pollInterval = pollInterval
            self.cacheCapacity = cacheCapacity
            self.usesHistory = usesHistory
            self.storePeerAddress = storePeerAddress
            self.maximumPostsInFlight = maximumPostsInFlight
        }
    }

    let base: WakuSharedState
    let links: [WakuNodeLink]

    let waitingCount = Atomic<Int>(0)

    /// - Parameters:
    ///   - nodes: The nodes, at least one.
    ///   - jitter: Returns a random number from 0 up to, but not including, 1.
    package init(
        nodes: [WakuNode], configuration: Configuration, checkpoints: any CheckpointKeeper, clock: any Clock<Duration> = ContinuousClock(),
        wallClock: WallClock, jitter: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }, logger: Logger
    ) {
        let base = WakuSharedState(
            nodes: nodes.map(\.name), configuration: configuration, checkpoints: checkpoints, clock: clock, wallClock: wallClock,
            jitter: jitter, logger: logger)
        self.base = base
        links = nodes.enumerated().map { WakuNodeLink(node: $1, index: $0, isOnly: nodes.count == 1, base: base) }
    }

    package func run(receiver: any EnvelopeReceiver) async throws {
        if !base.configuration.usesHistory { base.logger.notice("node's store is disabled; messages missed in a gap are lost") }
        await withDiscardingTaskGroup { group in
            for link in links { group.addTask { await link.run(receiver: receiver) } }
        }
    }

    // MARK: Status for operators

    package var healthIssues: [String] { isUsable ? [] : nodeIssues }
    package var warnings: [String] {
        let now = base.time.elapsed()
        return (isUsable ? nodeIssues : []) + perNode { $0.status.warnings(at: now) } + quotaWarnings + holeWarnings
    }

    /// The nodes' states for operators, ordered as in the settings.
    package var nodeReports: [NodeReport] {
        let now = base.time.elapsed()
        return links.map { link in
            NodeReport(
                name: link.node.name, issues: link.status.healthIssues, connection: link.status.connection,
                lastMessageAge: link.status.lastMessage.map { now - $0 }, gapCount: link.status.gapCount)
        }
    }

    package var canEcho: Bool { base.selector.read(\.withoutQuota).isEmpty }

    private var quotaWarnings: [String] {
        base.selector.read(\.withoutQuota).map { node in
            "publishing: the RLN quota of node \(links[node].node.name) is exhausted; replies wait for the next epoch, without echoes"
        }
    }

    private var holeWarnings: [String] {
        base.toldHoles.withLock(\.self).sorted { $0.key < $1.key }.flatMap { topic, holes in
            holes.map { hole in
                """
                \(topic): no message was received from \(Self.text(of: hole)), and no store that was asked has one; set \
                transport.waku.storePeer to a node that was up then, and restart this server, or wait for store-sync
                """
            }
        }
    }

    static func text(of hole: Hole) -> String {
        func time(_ time: Timestamp) -> String { Date(timeIntervalSince1970: Double(time.nanoseconds) / 1e9).formatted(.iso8601) }
        return "\(time(hole.period.lowerBound)) to \(time(hole.period.upperBound))"
    }

    /// Whether at least one node is free of issues.
    private var isUsable: Bool { links.contains(where: \.status.healthIssues.isEmpty) }

    private var nodeIssues: [String] { perNode(\.status.healthIssues) }

    private func perNode(_ what: (WakuNodeLink) -> [String]) -> [String] {
        links.flatMap { link in what(link).map { "node \(link.node.name): \($0)" } }
    }

    /// Sets the metrics that change with time, each to the best value among the nodes. Call this before the metrics are read.
    package func refreshGauges() {
        let (now, elapsed) = (base.wallClock.now(), base.time.elapsed())
        for (link, up) in zip(links, base.metrics.nodesUp) { up.set(link.status.healthIssues.isEmpty ? 1 : 0) }
        base.metrics.publishQueueDepth.set(waitingCount.load(ordering: .relaxed))
        if base.configuration.usesHistory {
            let forgottenUntil = base.known.withLock(\.forgottenUntil)
            let start = HistorySync.lookBackStart(at: now, forgottenUntil: forgottenUntil)
            base.metrics.comparedPeriod.set(max(0, start.duration(to: now) / .seconds(1)))
        }
        if let poll = links.compactMap(\.status.oldestPoll).max() { base.metrics.lastPollAge.set((elapsed - poll) / .seconds(1)) }
        if let checkpoint = links.compactMap(\.status.oldestCheckpoint).max() {
            base.metrics.checkpointAge.set((elapsed - checkpoint) / .seconds(1))
        }
    }
}
