package import Envelope
package import Logging
import StatusCrypto
import Synchronization
import Transport
import WakuREST
import Wire

/// A node on the bus, and what it answers: nwaku's REST API without the HTTP (WAKU_REST.md §1, §2).
///
/// The node is locked for its quick operations only; bodies, which can be long, are read and written outside.
package final class RelayMember: BusListener {
    /// As the Status fleet has it; nwaku's own default of 150 KiB is too small for large registrations (WAKU_REST.md §2.2).
    static let maximumMessageByteCount = 1 << 20
    /// With more than these a store query that has a cursor is refused.
    static let maximumContentTopicsWithCursor = 10

    private let node: Mutex<RelayNode>
    private let archiveFile: ArchiveFile?
    /// Made up: another at each start, as of a node without `--nodekey` (WAKU_REST.md §1.1).
    private let peerID: String
    private let clock: WallClock
    private let logger: Logger

    /// - Throws: if the archive's file cannot be opened.
    package init(_ configuration: RelayServer.Configuration, clock: WallClock, logger: Logger) throws {
        let saved = try configuration.archivePath.map { try ArchiveFile.open(path: $0) }
        node = Mutex(
            RelayNode(
                pubsubTopics: configuration.pubsubTopics, cacheCapacity: configuration.cacheCapacity,
                archive: saved?.archive ?? MessageArchive()))
        archiveFile = saved?.file
        let base58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
        peerID = "16Uiu2HAm" + String((0..<44).compactMap { _ in base58.randomElement() })
        self.clock = clock
        self.logger = logger
    }

    package func hear(_ envelope: WakuEnvelope) {
        let (hash, now) = (envelope.hash, clock.now())
        guard node.withLock({ $0.hear(envelope, hash: hash, now: now) }) else { return }
        do {
            try archiveFile?.append(envelope)
        } catch {
            logger.error("a message is not in the archive's file", metadata: ["error": "\(error)"])
        }
    }

    /// - Parameter publish: hands a message to the other members of the bus; throws when one that has to record it could not.
    package func respond(
        to request: RelayRequest, publishing publish: (WakuEnvelope) async throws -> Void
    ) async -> RelayResponse {
        do throws(RelayRefusal) {
            switch RelayRoute.parse(method: request.method, target: request.target) {
            case .health: return .json(NodeResponse.health)
            case .info: return .json(NodeResponse.info(listenAddress: "\(request.listenAddress)/p2p/\(peerID)"))
            case .version: return .text(NodeResponse.version)
            case .subscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                guard node.withLock({ $0.subscribe(to: topics) }) else {
                    throw RelayRefusal(500, "Subscribe failed: more than \(RelayNode.maximumSubscriptionCount) subscriptions")
                }
                return .ok
            case .unsubscribe:
                let topics = try RelayBodies.pubsubTopics(request)
                node.withLock { $0.unsubscribe(from: topics) }
                return .ok
            case .messages(let topic):
                // Not subscribed is a 404 without text, unlike a path that does not exist.
                guard let messages = node.withLock({ $0.take(pubsubTopic: topic) }) else { return .error(404) }
                return .json(NodeResponse.messages(messages))
            case .publish(let topic):
                let envelope = try envelope(request, topic)
                return await pass(envelope, to: publish)
            case .automatic(let route): return automatic(route)
            case .store(let query): return try store(try StoreRequest(parsing: query))
            case .unknown(let status, let text): return .error(status, text)
            case .invalidParameter: return .error(400)
            }
        } catch {
            return error.response
        }
    }

    private func envelope(_ request: RelayRequest, _ topic: String) throws(RelayRefusal) -> WakuEnvelope {
        guard node.withLock({ $0.isSubscribed(to: topic) }) else {
            throw RelayRefusal(400, "Failed to publish: Node not subscribed to topic: \(topic)")
        }
        let message = try RelayBodies.message(request, now: clock.now())
        guard message.encodedByteCount <= Self.maximumMessageByteCount else {
            throw RelayRefusal(400, "Failed to publish: Message size exceeded maximum of \(Self.maximumMessageByteCount) bytes")
        }
        return WakuEnvelope(pubsubTopic: topic, message: message)
    }

    /// 200 only if the server recorded the message; a node hears itself, too (WAKU_REST.md §2.1).
    private func pass(_ envelope: WakuEnvelope, to publish: (WakuEnvelope) async throws -> Void) async -> RelayResponse {
        do {
            try await publish(envelope)
        } catch let error as NotRecording {
            return .error(503, "Failed to publish: \(error)")
        } catch {
            // The client has the answer, and the engine logs the begin and the end of the condition.
            logger.debug("message not recorded", metadata: ["error": "\(error)"])
            return .error(500, "Failed to publish: the server could not record the message")
        }
        hear(envelope)
        return .ok
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
        if let peerAddress = request.peerAddress { return .json(StoreResponse.peerFailure(peerAddress)) }
        if request.query.cursor != nil, request.query.contentTopics.count > Self.maximumContentTopicsWithCursor {
            throw RelayRefusal(500, "INVALID_QUERY: too many content topics")
        }
        guard let page = node.withLock({ $0.page(request.query) }) else { throw RelayRefusal(500, "DRIVER_ERROR: cursor not found") }
        return .json(StoreResponse.page(page, includesData: request.includesData))
    }
}
