import Envelope
import Synchronization
import Transport
import Wire

/// A node on the bus, and what it answers: nwaku's REST API without the HTTP (WAKU_REST.md §1, §2).
///
/// The node is locked for its quick operations only; bodies, which can be long, are read and written outside.
final class RelayMember: BusListener {
    /// As the Status fleet has it; nwaku's own default of 150 KiB is too small for large registrations (WAKU_REST.md §2.2).
    static let defaultMaximumMessageByteCount = 1 << 20
    /// With more than these a store query that has a cursor is refused.
    static let maximumContentTopicsWithCursor = 10

    /// What is to be done about a request.
    enum Step: Equatable {
        case answer(RelayResponse)
        /// To be published; when that succeeded, the node has to `hear` its own message.
        case publish(WakuEnvelope)
    }

    private let node: Mutex<RelayNode>
    private let listenAddress = Mutex("")
    private let maximumMessageByteCount: Int
    private let clock: WallClock

    init(
        node: RelayNode, maximumMessageByteCount: Int = RelayMember.defaultMaximumMessageByteCount, clock: WallClock
    ) {
        self.node = Mutex(node)
        self.maximumMessageByteCount = maximumMessageByteCount
        self.clock = clock
    }

    /// Tells the address for `/info`, with a peer id made up: another at each start, as of a node without `--nodekey` (WAKU_REST.md §1.1).
    func isListening(host: String, port: Int) {
        let base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
        let peerID = "16Uiu2HAm" + String((0..<44).compactMap { _ in base58.randomElement() })
        let family = host.contains(":") ? "ip6" : "ip4"
        listenAddress.withLock { $0 = "/\(family)/\(host)/tcp/\(port)/p2p/\(peerID)" }
    }

    func hear(_ envelope: WakuEnvelope) {
        let hash = envelope.hash
        node.withLock { $0.hear(envelope, hash: hash, now: clock.now()) }
    }

    func handle(_ request: RelayRequest) -> Step {
        do throws(RelayRefusal) {
            switch RelayRoute.parse(method: request.method, target: request.target) {
            case .health: return .answer(.json(NodeAnswer.health))
            case .info: return .answer(.json(NodeAnswer.info(listenAddress: listenAddress.withLock { $0 })))
            case .version: return .answer(.text(NodeAnswer.version))
            case .subscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                node.withLock { $0.subscribe(to: topics) }
                return .answer(.ok)
            case .unsubscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                node.withLock { $0.unsubscribe(from: topics) }
                return .answer(.ok)
            case .messages(let topic): return .answer(messages(topic))
            case .publish(let topic): return .publish(try envelope(request, topic))
            case .automatic(let route): return .answer(automatic(route))
            case .store(let query): return .answer(try store(try StoreRequest(parsing: query)))
            case .unknown(let status, let text): return .answer(.error(status, text))
            case .invalidParameter: return .answer(.error(400))
            }
        } catch {
            return .answer(error.response)
        }
    }

    /// Not subscribed is a 404 without text, unlike a path that does not exist.
    private func messages(_ topic: String) -> RelayResponse {
        guard let messages = node.withLock({ $0.take(pubsubTopic: topic) }) else { return .error(404) }
        return .json(NodeAnswer.messages(messages))
    }

    private func envelope(_ request: RelayRequest, _ topic: String) throws(RelayRefusal) -> WakuEnvelope {
        guard node.withLock({ $0.isSubscribed(to: topic) }) else {
            throw RelayRefusal(400, "Failed to publish: Node not subscribed to topic: \(topic)")
        }
        let message = try RelayBodies.message(request, now: clock.now())
        guard message.encodedByteCount <= maximumMessageByteCount else {
            throw RelayRefusal(400, "Failed to publish: Message size exceeded maximum of \(maximumMessageByteCount) bytes")
        }
        return WakuEnvelope(pubsubTopic: topic, message: message)
    }

    /// As a node with static sharding answers: it cannot tell the pubsub topic of a content topic.
    private func automatic(_ route: RelayRoute.AutomaticRoute) -> RelayResponse {
        switch route {
        case .subscribe:
            .error(500, "Subscribe failed:Static sharding is used, relay subscriptions must specify a pubsub topic")
        case .unsubscribe:
            .error(500, "Unsubscribe failed:Static sharding is used, relay subscriptions must specify a pubsub topic")
        case .messages(let contentTopic): .error(404, contentTopic)
        case .publish: .error(400, "Failed to publish. Autosharding is disabled")
        }
    }

    private func store(_ request: StoreRequest) throws(RelayRefusal) -> RelayResponse {
        if let peerAddress = request.peerAddress { return .json(StoreAnswer.peerFailure(peerAddress)) }
        if request.query.cursor != nil, request.query.contentTopics.count > Self.maximumContentTopicsWithCursor {
            throw RelayRefusal(500, "INVALID_QUERY: too many content topics")
        }
        guard let page = node.withLock({ $0.page(request.query) }) else { throw RelayRefusal(500, "DRIVER_ERROR: cursor not found") }
        return .json(StoreAnswer.page(page, includesData: request.includesData))
    }
}
