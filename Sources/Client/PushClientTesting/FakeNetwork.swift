package import Envelope
public import PushClient
import StatusCrypto
import Synchronization
import Wire

/// A node and a network in memory, with a store and any number of push servers: for an app's own tests.
///
///     let network = FakeNetwork()
///     let client = try await RegisteringClient(identity: .generate(), node: network.node, state: MemoryState())
///     _ = try await client.register(device, with: [network.servers[0].identity])
///     #expect(network.servers[0].registrationCount == 1)
///
/// All waiting is on the ``clock``, whose time advances by itself, so that the test takes no longer than its computations.
public final class FakeNetwork: FakeNode {
    private struct State {
        var envelopes: [WakuEnvelope] = []
        var isDown = false
        var failingReadCount = 0
        var lostReplies: [PushClient.PublicKey: Int] = [:]
        var delays: [PushClient.PublicKey: Duration] = [:]
        var delayed: [(time: Timestamp, envelope: WakuEnvelope)] = []
    }

    /// The servers. Their keys are the same in each test.
    public let servers: [FakeServer]
    /// The clients' and servers' clock.
    public let clock: TestClock
    package var time: TestClock { clock }
    private let state = Mutex(State())

    /// - Parameter serverCount: The number of servers. Their keys are 1, 2, …
    package init(serverCount: Int = 2, segmenter: Segmenter = Segmenter(), clock: TestClock) {
        self.clock = clock
        servers = (1...serverCount).map { FakeServer(key: .test(UInt8($0)), segmenter: segmenter, wallClock: clock.wallClock) }
    }

    /// Creates a network.
    ///
    /// - Parameter serverCount: The number of servers, from 1 to 255.
    public convenience init(serverCount: Int = 2) {
        self.init(serverCount: serverCount, clock: TestClock())
    }

    /// A node in the network. Call limits do not apply to it.
    public var node: Node { clock.node(self) }

    /// All messages that clients and servers have published.
    package var envelopes: [WakuEnvelope] { state.withLock(\.envelopes) }

    /// Makes the node unreachable, or reachable again.
    public func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

    /// Makes the given number of next reads fail.
    package func failReads(_ count: Int) { state.withLock { $0.failingReadCount = count } }

    /// Drops a server's next replies, as many as given.
    public func loseReplies(of server: FakeServer, count: Int = 1) { state.withLock { $0.lostReplies[server.identity] = count } }

    /// Makes a server's replies arrive later from now on.
    public func delayReplies(of server: FakeServer, by delay: Duration) { state.withLock { $0.delays[server.identity] = delay } }

    package func publish(_ envelope: WakuEnvelope) async throws {
        try checkUp()
        state.withLock { $0.envelopes.append(envelope) }
        for server in servers {
            let replies = server.replies(to: envelope)
            guard !replies.isEmpty else { continue }
            let now = clock.wallClock.now()
            state.withLock { state in
                if let count = state.lostReplies[server.identity], count > 0 {
                    state.lostReplies[server.identity] = count - 1
                } else if let delay = state.delays[server.identity] {
                    state.delayed += replies.map { (now.advanced(by: delay), $0) }
                } else {
                    state.envelopes += replies
                }
            }
        }
    }

    package func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        try checkUp()
        let fails = state.withLock { state in
            state.failingReadCount -= state.failingReadCount > 0 ? 1 : 0
            return state.failingReadCount > 0
        }
        guard !fails else { throw PushClientError.nodeUnreachable(reason: "down") }
        let now = clock.wallClock.now()
        return state.withLock { state in
            state.envelopes += state.delayed.filter { $0.time <= now }.map(\.envelope)
            state.delayed.removeAll { $0.time <= now }
            return state.envelopes.filter { envelope in
                envelope.pubsubTopic == pubsubTopic && Topic(contentTopic: envelope.message.contentTopic).map(topics.contains) == true
                    && envelope.message.timestamp.map { $0 >= start.nanoseconds } == true
            }
        }
    }

    private func checkUp() throws {
        guard !state.withLock(\.isDown) else { throw PushClientError.nodeUnreachable(reason: "down") }
    }
}
