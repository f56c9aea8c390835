import Bytes
import Envelope
import PushClient
import StatusCrypto
import Synchronization
import Wire

/// A network with a store and any number of servers, which reply to published messages at once.
final class FakeNetwork: FakeNode {
    private struct State {
        var envelopes: [WakuEnvelope] = []
        var isDown = false
        var failingReadCount = 0
        var lostReplies: [PushClient.PublicKey: Int] = [:]
        var delays: [PushClient.PublicKey: Duration] = [:]
        var delayed: [(time: Timestamp, envelope: WakuEnvelope)] = []
    }

    let servers: [FakeServer]
    let time: TestTime
    private let state = Mutex(State())

    /// - Parameter serverCount: The number of servers. Their keys are 1, 2, …
    init(serverCount: Int = 2, segmenter: Segmenter = Segmenter(), time: TestTime = TestTime()) {
        self.time = time
        servers = (1...serverCount).map { FakeServer(key: .test(UInt8($0)), segmenter: segmenter, wallClock: time.wallClock) }
    }

    var node: Node { time.node(self) }

    /// All messages that clients and servers have published.
    var envelopes: [WakuEnvelope] { state.withLock(\.envelopes) }

    /// Makes the node unreachable, or reachable again.
    func setDown(_ isDown: Bool) { state.withLock { $0.isDown = isDown } }

    /// Makes the given number of next reads fail.
    func failReads(_ count: Int) { state.withLock { $0.failingReadCount = count } }

    /// Drops the given number of a server's next replies.
    func loseReplies(of server: FakeServer, count: Int = 1) { state.withLock { $0.lostReplies[server.identity] = count } }

    /// Delays the replies of a server.
    func delayReplies(of server: FakeServer, by delay: Duration) { state.withLock { $0.delays[server.identity] = delay } }

    func publish(_ envelope: WakuEnvelope) async throws {
        try checkUp()
        state.withLock { $0.envelopes.append(envelope) }
        for server in servers {
            let replies = server.replies(to: envelope)
            guard !replies.isEmpty else { continue }
            let now = time.wallClock.now()
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

    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        try checkUp()
        let fails = state.withLock { state in
            state.failingReadCount -= state.failingReadCount > 0 ? 1 : 0
            return state.failingReadCount > 0
        }
        guard !fails else { throw PushClientError.nodeUnreachable(reason: "down") }
        let now = time.wallClock.now()
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
