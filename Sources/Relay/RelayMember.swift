import Envelope
import MessageBus
import StatusCrypto
import Synchronization
import WakuREST
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
        /// On purpose: the connection ends without an answer.
        case hangUp
    }

    private let node: Mutex<RelayNode>
    private let address = Mutex((host: "", port: 0, peerID: ""))
    private let maximumMessageByteCount: Int
    private let clock: WallClock
    private let control: RelayControl
    /// Is told of each message that the store has taken.
    private let onArchived: @Sendable (WakuEnvelope) -> Void

    init(
        node: RelayNode, maximumMessageByteCount: Int = RelayMember.defaultMaximumMessageByteCount, clock: WallClock,
        control: RelayControl = RelayControl(), onArchived: @escaping @Sendable (WakuEnvelope) -> Void = { _ in }
    ) {
        self.node = Mutex(node)
        self.maximumMessageByteCount = maximumMessageByteCount
        self.clock = clock
        self.control = control
        self.onArchived = onArchived
    }

    var faults: RelayFaults { control.faults }

    /// Tells the address for `/info`, with a peer id made up: another at each start, as of a node without `--nodekey` (WAKU_REST.md §1.1).
    func isListening(host: String, port: Int) {
        address.withLock { $0 = (host, port, Self.newPeerID()) }
    }

    private static func newPeerID() -> String {
        let base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
        return "16Uiu2HAm" + String((0..<44).compactMap { _ in base58.randomElement() })
    }

    private var listenAddress: String {
        let (host, port, peerID) = address.withLock { $0 }
        return "/\(host.contains(":") ? "ip6" : "ip4")/\(host)/tcp/\(port)/p2p/\(peerID)"
    }

    func hear(_ envelope: WakuEnvelope) {
        let hash = envelope.hash
        let (now, faults) = (clock.now(), faults)
        guard faults.delay == .zero else {
            return node.withLock { $0.delay(envelope, hash: hash, until: now.advanced(by: faults.delay)) }
        }
        let isArchived = node.withLock { $0.hear(envelope, hash: hash, now: now, faults: faults) }
        if isArchived { onArchived(envelope) }
    }

    /// Lets in what was held back on purpose and has arrived by now.
    private func hearDelayed() {
        let (now, faults) = (clock.now(), faults)
        for (envelope, hash) in node.withLock({ $0.arrived(by: now) }) {
            let isArchived = node.withLock { $0.hear(envelope, hash: hash, now: now, faults: faults) }
            if isArchived { onArchived(envelope) }
        }
    }

    func loseSubscriptions() { node.withLock { $0.loseSubscriptions() } }

    func restart() {
        node.withLock { $0.restart() }
        address.withLock { $0.peerID = Self.newPeerID() }
    }

    func forgetStore() { node.withLock { $0.forgetStore() } }

    func handle(_ request: RelayRequest) -> Step {
        hearDelayed()
        let step = handleAsNWaku(request)
        guard case .answer(let response) = step, faults.isGoWaku else { return step }
        return .answer(GoWakuDialect.response(response))
    }

    private func handleAsNWaku(_ request: RelayRequest) -> Step {
        do throws(RelayRefusal) {
            let route = RelayRoute.parse(method: request.method, target: request.target)
            if let refusal = refusalOnPurpose(of: route) { throw refusal }
            switch route {
            case .health: return .answer(health)
            case .info: return .answer(.json(NodeAnswer.info(listenAddress: listenAddress)))
            case .version: return .answer(.text(NodeAnswer.version))
            case .subscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                node.withLock { $0.subscribe(to: topics) }
                return .answer(.ok)
            case .unsubscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                node.withLock { $0.unsubscribe(from: topics) }
                return .answer(.ok)
            case .messages(let topic):
                let answer = messages(topic)
                return faults.losesAnswers ? .hangUp : .answer(answer)
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

    private var health: RelayResponse {
        if faults.isGoWaku { return GoWakuDialect.health }
        return .json(faults.isNotReady ? NodeAnswer.initializing : NodeAnswer.health)
    }

    private func refusalOnPurpose(of route: RelayRoute) -> RelayRefusal? {
        let faults = faults
        switch route {
        case .subscribe, .unsubscribe, .messages, .publish, .automatic:
            guard faults.isNotReady else { break }
            return RelayRefusal(404, "/relay endpoints are not available while initializing.")
        case .store:
            if faults.isNotReady { return RelayRefusal(404, "/store endpoints are not available while initializing.") }
            guard faults.hasNoStore else { break }
            return RelayRefusal(404, "/store endpoints are not available. Please check your configuration: --store")
        case .health, .info, .version, .unknown, .invalidParameter: break
        }
        guard case .publish = route else { return nil }
        switch faults.publishing {
        case .refused: return RelayRefusal(400, "Failed to publish: RLN validation failed")
        case .timedOut: return RelayRefusal(500, "Failed to publish: timedout")
        case .normal, .timedOutButSent: return nil
        }
    }

    /// Not subscribed is a 404 without text, unlike a path that does not exist.
    private func messages(_ topic: String) -> RelayResponse {
        guard var messages = node.withLock({ $0.take(pubsubTopic: topic) }) else { return .error(404) }
        let faults = faults
        if faults.copies != 1 { messages = messages.flatMap { repeatElement($0, count: faults.copies) } }
        if faults.isReversed { messages.reverse() }
        return .json(faults.isGoWaku ? GoWakuDialect.messages(messages) : NodeAnswer.messages(messages))
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
        if faults.isGoWaku { try GoWakuDialect.check(request) }
        guard let page = node.withLock({ $0.page(request.query) }) else { throw RelayRefusal(500, "DRIVER_ERROR: cursor not found") }
        if faults.isGoWaku { return .json(GoWakuDialect.page(page, includesData: request.includesData)) }
        return .json(StoreAnswer.page(page, includesData: request.includesData))
    }
}
