import Bytes
import Envelope
import PushClient
import PushClientTesting
import StatusCrypto
import Synchronization
import TestSupport
import Wire

/// A node with the reference's server behind it. The node replies with the reference's bytes to a request that equals one of the golden
/// vectors, and ignores others.
final class ReferenceNode: FakeNode {
    /// The published requests, opened.
    var requests: [OpenedMessage] { state.withLock(\.requests) }

    private let golden: Golden
    private let server: PrivateKey
    private let queryTopic: (topic: Topic, key: SymmetricKey)
    private let state = Mutex(State())
    private let scripts: Mutex<[[UInt8]]>

    private struct State {
        var requests: [OpenedMessage] = []
        var answers: [WakuEnvelope] = []
    }

    /// Creates a node.
    ///
    /// - Parameters:
    ///   - owner: The owner on whose query topic the server receives.
    ///   - scripts: The random bytes of the client's operations, in order. Later operations use real random bytes.
    init(_ golden: Golden, owner: StatusCrypto.PublicKey, scripts: [[UInt8]]) throws {
        self.golden = golden
        server = try golden.key("server")
        let name = TopicName.query(owner.hash, .plain)
        queryTopic = (name.topic, name.deriveSymmetricKey())
        self.scripts = Mutex(scripts)
    }

    /// Returns a node at a time that makes `version` the next version.
    func node(version: UInt64 = 1) -> Node {
        let now = Timestamp(nanoseconds: Int64(version) * 1_000_000)
        let time = TestClock()
        return Node(
            transport: FakeTransport(node: self, time: time), pubsubTopic: FakeServer.pubsubTopic, clock: time,
            limitClock: time.limits, wallClock: WallClock { now }
        ) {
            let script = self.scripts.withLock { $0.isEmpty ? [] : $0.removeFirst() }
            return Randomness(ScriptedRandom(script))
        }
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        let payload = envelope.message.payload
        let topic = Topic(contentTopic: envelope.message.contentTopic)
        let frame =
            topic == queryTopic.topic
            ? try? RFC26.openSymmetric(payload, with: queryTopic.key) : try? RFC26.openAsymmetric(payload, with: server)
        guard let data = frame?.data, let request = try? ApplicationMetadata.open(data) else { return }
        let step = golden.steps.first {
            $0.in.decoded.applicationMetadata.bytes == data && $0.in.contentTopic == envelope.message.contentTopic
        }
        state.withLock { state in
            state.requests.append(request)
            state.answers += step?.responses.map(\.envelope) ?? []
        }
    }

    /// Returns all replies on the topics, whatever their time: the reference's replies have their original times.
    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        state.withLock { state in
            state.answers.filter { Topic(contentTopic: $0.message.contentTopic).map(topics.contains) == true }
        }
    }
}
