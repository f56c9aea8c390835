import Envelope
import HTTPClient
import Synchronization
import TestServers
import TestSupport
import WakuREST
import Wire

@testable import Transport

/// A receiver interested in topics that begin with `/wanted`. The receiver accepts each message once, as the engine does, or rejects all.
final class Receiver: EnvelopeReceiver {
    struct DiskFull: Error {}
    /// The messages of unsupported versions.
    let unreadable = Recorder<WakuEnvelope>()
    /// The times at which a network without peers had peers again.
    let returns = Recorder<Void>()
    /// The topics that become of interest later.
    let lateTopics = Condition<Set<String>>([])

    struct State {
        var batches: [[WakuEnvelope]] = []
        /// The distinct messages of all batches.
        var messages: [WakuEnvelope] = []
        var origins: [EnvelopeOrigin] = []
        var remainingRefusals = 0
        var refusals = 0
    }

    let condition = Condition(State())
    private let hook = Mutex<(@Sendable ([WakuEnvelope]) async throws -> Void)?>(nil)

    /// Sets a function that is called with each batch before its acceptance.
    func onReceive(_ hook: @escaping @Sendable ([WakuEnvelope]) async throws -> Void) {
        self.hook.withLock { $0 = hook }
    }

    var batches: [[WakuEnvelope]] { condition.value.batches }
    /// The first bytes of the payloads.
    var numbers: [UInt8] { condition.value.messages.compactMap(\.message.payload.first) }

    func isInterested(in contentTopic: String) -> Bool {
        contentTopic.hasPrefix("/wanted") || lateTopics.read { $0.contains(contentTopic) }
    }

    func countUnreadable(_ envelopes: [WakuEnvelope]) {
        for envelope in envelopes { unreadable.append(envelope) }
    }

    func networkReturned() { returns.append(()) }

    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws {
        try await hook.withLock { $0 }?(envelopes)
        let isTaken = condition.change { state in
            guard state.remainingRefusals == 0 else {
                state.remainingRefusals -= 1
                state.refusals += 1
                return false
            }
            state.batches.append(envelopes)
            let known = Set(state.messages.map(\.hash))
            let new = envelopes.filter { !known.contains($0.hash) }
            state.messages += new
            state.origins += new.map { _ in origin }
            return true
        }
        guard isTaken else { throw DiskFull() }
    }

    func refuse(_ count: Int) { condition.change { $0.remainingRefusals = count } }

    func wait(for count: Int) async { await condition.wait { $0.messages.count >= count } }
}

/// Checkpoints in memory, which outlive the transports of a test.
final class MemoryCheckpoints: CheckpointKeeper {
    let condition = Condition([String: [Timestamp]]())
    private let open = Mutex([String: OpenHoles]())

    init(_ checkpoint: Timestamp? = nil, of topic: String = TestNode.topic) {
        condition.change { $0[topic] = checkpoint.map { [$0] } }
    }

    func checkpoint(of name: String) -> Timestamp? { condition.value[name]?.last }

    func checkpoints(of pubsubTopic: String) -> [String: Timestamp] {
        condition.value.compactMapValues(\.last).filter { HistoryProgress.isCheckpoint($0.key, of: pubsubTopic) }
    }

    func save(_ progress: HistoryProgress) {
        let newest = checkpoints(of: progress.pubsubTopic).values.max()
        open.withLock { open in
            let earlier = open[progress.pubsubTopic] ?? OpenHoles([], listedUntil: Timestamp(nanoseconds: 0))
            open[progress.pubsubTopic] = OpenHoles(
                progress.holes(after: earlier.holes, newestCheckpoint: newest), listedUntil: progress.listedAt ?? earlier.listedUntil)
        }
        condition.change { $0[progress.checkpointName, default: []].append(progress.checkpoint) }
    }

    func holes(of pubsubTopic: String) -> OpenHoles {
        open.withLock { $0[pubsubTopic] } ?? OpenHoles([], listedUntil: Timestamp(nanoseconds: 0))
    }

    /// Waits until the history checkpoint reaches a time.
    func wait(for checkpoint: Timestamp, of topic: String = TestNode.topic) async {
        await condition.wait { $0[topic]?.contains { $0 >= checkpoint } == true }
    }
}

/// A node, a server's transport and its receiver, with shared manual clocks.
struct WakuWorld: ManuallyClocked {
    /// The time between two polls of a topic.
    static let interval = Duration.milliseconds(500)
    /// The sleepers of an idle transport just after their work: the poll, the comparison with the store, the check of the
    /// node's health.
    static let idle = [interval, .seconds(60), .seconds(10)]

    let bus = Bus()
    /// The messages that a transport publishes.
    let peers = Listener()
    let peer: BusMembership
    let receiver = Receiver()
    let clock = ManualClock()
    let wallClock: ManualWallClock
    let control = RelayControl()
    let checkpoints: MemoryCheckpoints

    init(checkpoint: Timestamp? = TestNode.start, start: Timestamp = TestNode.start) {
        wallClock = ManualWallClock(start)
        checkpoints = MemoryCheckpoints(checkpoint)
        peer = bus.attach(listener: peers)
    }

    func envelope(_ number: UInt8, contentTopic: String = "/wanted/1/a/b", on topic: String = TestNode.topic) -> WakuEnvelope {
        .sample([number], on: topic, contentTopic: contentTopic, sent: wallClock.now)
    }

    /// Publishes messages as another member of the network.
    func send(_ numbers: some Sequence<UInt8>, contentTopic: String = "/wanted/1/a/b", on topic: String = TestNode.topic) async throws {
        for number in numbers { try await peer.publish(envelope(number, contentTopic: contentTopic, on: topic)) }
    }

    func transport(_ url: String, _ configuration: WakuTransport.Configuration? = nil) -> WakuTransport {
        transport([url], configuration)
    }

    func transport(_ urls: [String], _ configuration: WakuTransport.Configuration? = nil) -> WakuTransport {
        let client = HTTPClient()
        return WakuTransport(
            nodes: urls.map { WakuNode(url: $0, client: client, commandTimeout: TestNode.patience, readTimeout: TestNode.patience) },
            configuration: configuration ?? .init(pubsubTopics: [TestNode.topic], pollInterval: Self.interval),
            checkpoints: checkpoints, clock: clock, wallClock: wallClock.clock, jitter: { 1 }, logger: quietLogger)
    }

    func withNode(_ configuration: RelayServer.Configuration = .init(), _ test: (TestNode) async throws -> Void) async throws {
        try await withRelay(configuration, on: bus, clock: wallClock.clock, control: control, test)
    }

    /// Runs a transport during the test, which begins as soon as the transport is idle.
    ///
    /// - Parameter delays: The delays of an idle transport's sleepers.
    func whileRunning(_ transport: WakuTransport, dueIn delays: [Duration] = idle, _ test: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { [receiver] in try await transport.run(receiver: receiver) }
            await clock.sleepers(dueIn: delays)
            try await test()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Advances the clocks, and waits until the transport is idle again.
    ///
    /// - Parameter delays: The delays of the transport's sleepers afterwards. The default is the next poll only.
    func pass(_ duration: Duration, dueIn delays: [Duration] = [interval]) async {
        advance(by: duration)
        await clock.sleepers(dueIn: delays)
    }
}

extension WakuTransport {
    /// The health issues without the name of the node, which contains its port.
    var issuesWithoutNode: [String] { healthIssues.map { $0.replacing(#/^node 127\.0\.0\.1:\d+: /#, with: "") } }
}
