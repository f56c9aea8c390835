import Envelope
import HTTPClient
import Relay
import StatusCrypto
import Synchronization
import TestSupport
import Transport
import Wire

/// Something to be waited for: no test asks a clock how long.
final class Condition<State: Sendable>: Sendable {
    private struct Waiter {
        let isMet: @Sendable (State) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private let content: Mutex<(state: State, waiters: [Waiter])>

    init(_ state: State) {
        content = Mutex((state, []))
    }

    var state: State { content.withLock { $0.state } }

    func change<Result: Sendable>(_ change: (inout State) -> Result) -> Result {
        let (result, met) = content.withLock { content in
            let result = change(&content.state)
            let met = content.waiters.filter { $0.isMet(content.state) }
            content.waiters.removeAll { $0.isMet(content.state) }
            return (result, met)
        }
        for waiter in met { waiter.continuation.resume() }
        return result
    }

    func wait(until isMet: @escaping @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isThere = content.withLock { content in
                guard !isMet(content.state) else { return true }
                content.waiters.append(Waiter(isMet: isMet, continuation: continuation))
                return false
            }
            if isThere { continuation.resume() }
        }
    }
}

/// Wants what begins with `/wanted`; takes it or, told so, refuses it. Takes each message once, as the engine does.
final class Receiver: EnvelopeReceiver {
    struct DiskFull: Error {}

    struct State {
        var batches: [[WakuEnvelope]] = []
        /// Of all batches, each message once.
        var messages: [WakuEnvelope] = []
        var origins: [EnvelopeOrigin] = []
        var remainingRefusals = 0
        var refusals = 0
    }

    let condition = Condition(State())
    private let hook = Mutex<(@Sendable ([WakuEnvelope]) async throws -> Void)?>(nil)

    /// Called with each batch before it is taken.
    func onReceive(_ hook: @escaping @Sendable ([WakuEnvelope]) async throws -> Void) {
        self.hook.withLock { $0 = hook }
    }

    var batches: [[WakuEnvelope]] { condition.state.batches }
    /// The first byte of each payload.
    var numbers: [UInt8] { condition.state.messages.compactMap(\.message.payload.first) }

    func wants(contentTopic: String) -> Bool { contentTopic.hasPrefix("/wanted") }

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

/// Checkpoints in memory, which survive the transports of a test.
final class MemoryCheckpoints: CheckpointKeeper {
    let condition = Condition([String: [Timestamp]]())

    init(_ checkpoint: Timestamp? = nil, of topic: String = TestNode.topic) {
        condition.change { $0[topic] = checkpoint.map { [$0] } }
    }

    func checkpoint(of pubsubTopic: String) -> Timestamp? { condition.state[pubsubTopic]?.last }

    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) {
        condition.change { $0[pubsubTopic, default: []].append(checkpoint) }
    }

    /// Waits until the history is known up to then.
    func wait(for checkpoint: Timestamp, of topic: String = TestNode.topic) async {
        await condition.wait { $0[topic]?.contains { $0 >= checkpoint } == true }
    }
}

/// What a transport publishes, as its peers hear it.
final class Peers: BusListener {
    let condition = Condition([WakuEnvelope]())
    var heard: [WakuEnvelope] { condition.state }
    func hear(_ envelope: WakuEnvelope) { condition.change { $0.append(envelope) } }
}

/// A node, a server's transport and its receiver, with all time in one hand.
struct WakuWorld {
    static let interval = Duration.milliseconds(500)

    let bus = Bus()
    let peers = Peers()
    let peer: BusMembership
    let receiver = Receiver()
    let clock = ManualClock()
    let wallClock = ManualWallClock(TestNode.start)
    let control = RelayControl()
    let checkpoints: MemoryCheckpoints

    init(checkpoint: Timestamp? = TestNode.start) {
        checkpoints = MemoryCheckpoints(checkpoint)
        peer = bus.attach(listener: peers)
    }

    func envelope(_ number: UInt8, contentTopic: String = "/wanted/1/a/b", on topic: String = TestNode.topic) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = [number]
        message.contentTopic = contentTopic
        message.version = 1
        message.timestamp = wallClock.now.nanoseconds
        return WakuEnvelope(pubsubTopic: topic, message: message)
    }

    /// Somebody else publishes.
    func send(_ numbers: some Sequence<UInt8>, contentTopic: String = "/wanted/1/a/b", on topic: String = TestNode.topic) async throws {
        for number in numbers { try await peer.publish(envelope(number, contentTopic: contentTopic, on: topic)) }
    }

    func transport(_ url: String, _ configuration: WakuTransport.Configuration? = nil) -> WakuTransport {
        WakuTransport(
            node: WakuNode(url: url, client: HTTPClient()),
            configuration: configuration ?? .init(pubsubTopics: [TestNode.topic], pollInterval: Self.interval),
            checkpoints: checkpoints, clock: clock, wallClock: wallClock.clock, jitter: { 1 }, logger: quietLogger)
    }

    func withNode(_ configuration: RelayServer.Configuration = .init(), _ test: (TestNode) async throws -> Void) async throws {
        try await withRelay(configuration, on: bus, clock: wallClock.clock, control: control, test)
    }

    /// Runs a transport while the test runs, which begins when the transport has nothing to do but wait.
    ///
    /// - Parameter sleepers: at a node that works the poll and the history of each topic, and the health.
    func whileRunning(_ transport: WakuTransport, sleepers: Int = 3, _ test: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { [receiver] in try await transport.run(receiver: receiver) }
            await clock.sleepers(sleepers)
            try await test()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Lets time pass, and what comes of it happen.
    func pass(_ duration: Duration, sleepers: Int = 3) async {
        wallClock.advance(by: duration)
        clock.advance(by: duration)
        await clock.sleepers(sleepers)
    }
}
