import Bytes
package import Envelope
package import Logging
import Synchronization
import WakuREST
import Wire

/// A node on the bus: nwaku's REST API without the HTTP (WAKU_REST.md §1, §2).
///
/// The lock covers only the node's quick operations. Bodies, which can be long, are read and written outside of it.
package final class RelayMember: BusListener {
    /// The Status fleet's limit. nwaku's own default of 150 KiB is too small for large registrations (WAKU_REST.md §2.2).
    static let maximumMessageByteCount = 1 << 20
    /// The maximum number of content topics in a store query with a cursor.
    static let maximumContentTopicsWithCursor = 10

    private let node: Mutex<RelayNode>
    private let archiveFile: ArchiveFile?
    /// A random peer id, new at each start, as for a node without `--nodekey` (WAKU_REST.md §1.1).
    private let peerID: String
    private let clock: WallClock
    private let logger: Logger

    /// - Throws: The error of opening the archive's file.
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

    package func receive(_ envelope: WakuEnvelope) {
        let (hash, now) = (envelope.hash, clock.now())
        guard node.withLock({ $0.receive(envelope, hash: hash, now: now) }) else { return }
        do {
            try archiveFile?.append(envelope)
        } catch {
            logger.error("a message is not in the archive's file", metadata: ["error": "\(error)"])
        }
    }

    /// Adds a message of any age that another store had, as a node with `--store-sync` does. The node does not deliver it.
    package func synchronize(_ envelope: WakuEnvelope) {
        node.withLock { $0.synchronize(envelope, hash: envelope.hash) }
    }

    /// - Parameter publish: Publishes a message to all other bus members. Throws if a recorder fails.
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
                // A missing subscription is a 404 without text, as is an unknown path (WAKU_REST.md §0).
                guard let messages = node.withLock({ $0.take(pubsubTopic: topic) }) else { return .error(404) }
                return .json(NodeResponse.messages(messages))
            case .publish(let topic):
                let envelope = try envelope(request, topic)
                return await pass(envelope, to: publish)
            case .automatic(let route): return automatic(route)
            case .store(let query): return try store(try StoreRequest(parsing: query))
            case .unknown: return .error(404)
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

    /// Returns 200 only if the server recorded the message. A node also receives its own messages (WAKU_REST.md §2.1).
    private func pass(_ envelope: WakuEnvelope, to publish: (WakuEnvelope) async throws -> Void) async -> RelayResponse {
        do {
            try await publish(envelope)
        } catch let error as NotRecording {
            return .error(503, "Failed to publish: \(error)")
        } catch {
            // The client gets a response, and the engine logs when the condition starts and ends.
            logger.debug("message not recorded", metadata: ["error": "\(error)"])
            return .error(500, "Failed to publish: the server could not record the message")
        }
        receive(envelope)
        return .ok
    }

    /// Responds as a node with static sharding, which cannot derive the pubsub topic from a content topic.
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
