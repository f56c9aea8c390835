package import Envelope
import HTTPServing
import HTTPTypes
package import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle

/// The embedded stand-in for a Waku node: a `RelayMember` behind HTTP. A bus can have any number of them.
///
/// Like two real nodes, two servers have separate caches and subscriptions, and a GET empties only its server's cache.
package struct RelayServer: Service {
    package struct Configuration: Sendable {
        package var host: String
        /// The port. 0 selects any free port.
        package var port: Int
        /// The topics subscribed from the start, each of them a static shard (`PubsubTopic`).
        package var pubsubTopics: [String]
        /// How many messages the cache keeps for the next GET, all topics together.
        package var cacheCapacity: Int
        /// The store's file. Nil keeps the store in memory.
        package var archivePath: String?
        /// The maximum number of connections. Further connections wait to be accepted.
        package var maximumConnectionCount: Int

        package init(
            host: String = "127.0.0.1",
            port: Int = 0,
            pubsubTopics: [String] = [],
            cacheCapacity: Int = Self.defaultCacheCapacity,
            archivePath: String? = nil,
            maximumConnectionCount: Int = Self.defaultMaximumConnectionCount
        ) {
            self.host = host
            self.port = port
            self.pubsubTopics = pubsubTopics
            self.cacheCapacity = cacheCapacity
            self.archivePath = archivePath
            self.maximumConnectionCount = maximumConnectionCount
        }

        /// nwaku's default capacity (WAKU_REST.md §2.1).
        package static var defaultCacheCapacity: Int { MessageCache.defaultCapacity }
        /// In tests and the demo, a node has a handful of clients.
        package static let defaultMaximumConnectionCount = 256
    }

    /// nwaku's limit (WAKU_REST.md §0).
    static let maximumBodyByteCount = 16 << 20
    /// The timeout for a peer that sends nothing, or does not read its response.
    static let idleTimeout = TimeAmount.seconds(60)

    private let configuration: Configuration
    private let bus: Bus
    private let clock: WallClock
    private let logger: Logger
    private let onListening: @Sendable (String) async -> Void

    /// - Parameter onListening: Receives the bound address, `host:port`, as soon as the server responds to requests.
    package init(
        configuration: Configuration, bus: Bus, clock: WallClock, logger: Logger,
        onListening: @escaping @Sendable (_ address: String) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.bus = bus
        self.clock = clock
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or shut down gracefully.
    ///
    /// - Throws: An error if the address cannot be bound, or the archive's file cannot be opened.
    package func run() async throws {
        let member = try RelayMember(configuration, clock: clock, logger: logger)
        let membership = bus.attach(listener: member)
        defer { membership.leave() }
        try await Self.serve(configuration, logger: logger, onListening: onListening) { request, context in
            context.response(for: await member.respond(to: request, publishing: membership.publish))
        }
    }

    /// Serves HTTP only.
    package static func serve(
        _ configuration: Configuration, logger: Logger, onListening: @escaping @Sendable (_ address: String) async -> Void,
        respond: @escaping @Sendable (RelayRequest, RelayContext) async -> Response
    ) async throws {
        let listener = HTTPListener(
            host: configuration.host, port: configuration.port, maximumConnectionCount: configuration.maximumConnectionCount,
            idleTimeout: idleTimeout,
            responder: CallbackResponder<RelayContext> { request, context in
                do {
                    let body = try await request.body.collect(upTo: maximumBodyByteCount)
                    let relayRequest = RelayRequest(
                        method: request.method.rawValue, target: request.head.path ?? "", contentType: request.headers[.contentType],
                        body: Array(buffer: body), listenAddress: context.listenAddress)
                    return await respond(relayRequest, context)
                } catch {
                    return context.response(for: .error(error is NIOTooManyBytesError ? 413 : 400))
                }
            },
            logger: logger, onListening: onListening)
        try await listener.run()
    }
}
