import Envelope
import StatusCrypto
import Transport
import Wire

/// What one node knows and how it answers: nwaku's REST API as a value (WAKU_REST.md §1, §2). It does no I/O; publishing is left to the
/// caller, who then lets the node hear its own message.
struct RelayNode {
    /// As the Status fleet has it; nwaku's own default of 150 KiB is too small for large registrations (WAKU_REST.md §2.2).
    static let defaultMaximumMessageByteCount = 1 << 20
    /// With more than these a store query that has a cursor is refused.
    static let maximumContentTopicsWithCursor = 10

    /// What is to be done about a request.
    enum Step: Equatable {
        case answer(RelayResponse)
        case publish(WakuEnvelope)
    }

    /// What `/info` and `/version` tell.
    struct Identity {
        /// As a libp2p multiaddress.
        var listenAddress: String
        var version: String
    }

    var identity: Identity
    private let maximumMessageByteCount: Int
    private var subscriptions: Set<String>
    private var cache: MessageCache
    private var archive = MessageArchive()

    /// - Parameter pubsubTopics: subscribed to from the start, like `--shard` of nwaku's command line.
    init(
        identity: Identity, pubsubTopics: [String], cacheCapacity: Int = MessageCache.defaultCapacity,
        maximumMessageByteCount: Int = RelayNode.defaultMaximumMessageByteCount
    ) {
        self.identity = identity
        self.maximumMessageByteCount = maximumMessageByteCount
        subscriptions = Set(pubsubTopics)
        cache = MessageCache(capacity: cacheCapacity)
    }

    /// Takes a message that was published, here or elsewhere.
    mutating func hear(_ envelope: WakuEnvelope, hash: Digest32, now: Timestamp) {
        guard subscriptions.contains(envelope.pubsubTopic) else { return }
        cache.add(envelope)
        archive.add(envelope, hash: hash, now: now)
    }

    mutating func handle(_ request: RelayRequest, now: Timestamp) -> Step {
        do throws(RelayRefusal) {
            switch RelayRoute.parse(method: request.method, target: request.target) {
            case .health: return .answer(Self.health)
            case .info: return .answer(info)
            case .version: return .answer(.text(identity.version))
            case .subscribe:
                subscriptions.formUnion(try RelayBodies.pubsubTopics(request))
                return .answer(.ok)
            case .unsubscribe:
                for topic in try RelayBodies.pubsubTopics(request) where subscriptions.remove(topic) != nil {
                    cache.remove(pubsubTopic: topic)
                }
                return .answer(.ok)
            case .messages(let topic): return .answer(messages(topic))
            case .publish(let topic): return .publish(try envelope(request, topic, now))
            case .automatic(let route): return .answer(automatic(route))
            case .store(let query): return .answer(try store(try StoreRequest(parsing: query)))
            case .unknown(let status, let text): return .answer(.error(status, text))
            case .invalidParameter: return .answer(.error(400))
            }
        } catch {
            return .answer(error.response)
        }
    }

    private static let health = RelayResponse.json(
        #"{"nodeHealth":"READY","protocolsHealth":[{"Relay":"READY"},{"Rln Relay":"NOT_MOUNTED"},{"Store":"READY"}]}"#)

    private var info: RelayResponse {
        .json("{\"listenAddresses\":\(JSONText.array([identity.listenAddress])),\"enrUri\":\"\"}")
    }

    /// Not subscribed is a 404 without text, unlike a path that does not exist.
    private mutating func messages(_ topic: String) -> RelayResponse {
        guard subscriptions.contains(topic) else { return .error(404) }
        return .json("[\(cache.take(pubsubTopic: topic).map(Self.messageJSON).joined(separator: ","))]")
    }

    private static func messageJSON(_ message: WakuMessage) -> String {
        let meta = message.meta.isEmpty ? "" : "\"meta\":\(JSONText.base64(message.meta)),"
        return "{\"payload\":\(JSONText.base64(message.payload)),\"contentTopic\":\(JSONText.string(message.contentTopic)),"
            + "\"version\":\(message.version),\"timestamp\":\(message.timestamp ?? 0),\(meta)"
            + "\"ephemeral\":\(message.ephemeral),\"proof\":\"\"}"
    }

    private func envelope(_ request: RelayRequest, _ topic: String, _ now: Timestamp) throws(RelayRefusal) -> WakuEnvelope {
        guard subscriptions.contains(topic) else {
            throw RelayRefusal(400, "Failed to publish: Node not subscribed to topic: \(topic)")
        }
        let message = try RelayBodies.message(request, now: now)
        guard message.encodedByteCount <= maximumMessageByteCount else {
            throw RelayRefusal(400, "Failed to publish: Message size exceeded maximum of \(maximumMessageByteCount) bytes")
        }
        return WakuEnvelope(pubsubTopic: topic, message: message)
    }

    /// As a node with static sharding answers: it cannot tell a pubsub topic from a content topic.
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
        if let peerAddress = request.peerAddress { return StoreAnswer.peerFailure(peerAddress) }
        if request.query.cursor != nil, request.query.contentTopics.count > Self.maximumContentTopicsWithCursor {
            throw RelayRefusal(500, "INVALID_QUERY: too many content topics")
        }
        guard let page = archive.page(request.query) else { throw RelayRefusal(500, "DRIVER_ERROR: cursor not found") }
        return StoreAnswer.page(page, includesData: request.includesData)
    }
}
