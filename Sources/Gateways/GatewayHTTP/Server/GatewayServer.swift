import HTTPClient
import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The one listener of all gateways.
package struct GatewayServer: Service {
    package struct Configuration: Sendable {
        package var host: String
        /// 0: any free port.
        package var port: Int
        package var clientAddress: ClientAddress
        /// The maximum number of connections. Further ones wait to be accepted.
        package var maximumConnectionCount: Int

        /// 20,000: silent connections, of some kilobytes each, leave room for those that send a request.
        package static let defaultMaximumConnectionCount = 20_000

        package init(
            host: String, port: Int, clientAddress: ClientAddress = ClientAddress(),
            maximumConnectionCount: Int = Self.defaultMaximumConnectionCount
        ) {
            self.host = host
            self.port = port
            self.clientAddress = clientAddress
            self.maximumConnectionCount = maximumConnectionCount
        }
    }

    /// Connections that say nothing are closed after it. Phones and servers send their request at once.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// From the first byte of a body to its last.
    private static let maximumBodyDuration = Duration.seconds(60)

    private let configuration: Configuration
    private let gateways: [any Gateway]
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let onListening: @Sendable (String) async -> Void

    /// - Parameters:
    ///   - gateways: asked in this order.
    ///   - clock: by which a body may take so long.
    ///   - onListening: gets the address that was bound, `host:port`.
    package init(
        configuration: Configuration, gateways: [any Gateway], clock: any Clock<Duration> = ContinuousClock(), logger: Logger,
        onListening: @escaping @Sendable (_ address: String) async -> Void = { _ in }
    ) {
        self.configuration = configuration
        self.gateways = gateways
        self.clock = clock
        self.logger = logger
        self.onListening = onListening
    }

    /// Serves until the task is cancelled or shut down gracefully.
    ///
    /// - Throws: if the address cannot be bound.
    package func run() async throws {
        let front = Front(configuration.clientAddress, gateways, clock, logger)
        let application = Application(
            responder: CallbackResponder<GatewayContext> { request, context in
                await front.respond(to: request, from: context.peer)
            },
            server: .http1(configuration: .init(idleTimeout: Self.idleTimeout)),
            configuration: ApplicationConfiguration(
                address: .hostname(configuration.host, port: configuration.port),
                availableConnectionsDelegate: MaximumAvailableConnections(configuration.maximumConnectionCount)),
            onServerRunning: { channel in
                guard let address = channel.localAddress, let host = address.ipAddress, let port = address.port else { return }
                await onListening(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
            },
            logger: logger)
        try await application.run()
    }

    /// From HTTP to a gateway and back.
    private final class Front: Sendable {
        private let clientAddress: ClientAddress
        private let gateways: [any Gateway]
        private let clock: any Clock<Duration>
        private let logger: Logger
        private let hasWarned = Atomic(false)

        init(_ clientAddress: ClientAddress, _ gateways: [any Gateway], _ clock: any Clock<Duration>, _ logger: Logger) {
            self.clientAddress = clientAddress
            self.gateways = gateways
            self.clock = clock
            self.logger = logger
        }

        func respond(to request: Request, from peer: IPAddress?) async -> Response {
            // Only a socket of another family has no address.
            guard let peer, let forwardedFor = HTTPField.Name("X-Forwarded-For") else { return Self.response(.badRequest) }
            let (client, isUntrustedProxy) = clientAddress.resolve(peer: peer, forwarded: request.headers[values: forwardedFor])
            if isUntrustedProxy, !hasWarned.exchange(true, ordering: .relaxed) {
                logger.warning(
                    """
                    requests to the gateways come with X-Forwarded-For from an address that is not in gateways.trustedProxies: everybody \
                    behind it shares one limit
                    """)
            }
            let body = request.body
            let question = GatewayRequest(
                method: request.method.rawValue, target: request.head.path ?? "/",
                headers: HTTPHeaders(request.headers.map { (name: $0.name.rawName, value: $0.value) }), client: client
            ) { [clock] limit async throws(GatewayRequest.BodyError) in
                try await Self.collect(body, upTo: limit, clock)
            }
            for gateway in gateways {
                if let answer = await gateway.answer(question) { return Self.response(answer) }
            }
            return Self.response(.text(404, "Not Found"))
        }

        private static func collect(_ body: RequestBody, upTo limit: Int, _ clock: any Clock<Duration>) async throws(GatewayRequest
            .BodyError) -> [UInt8]
        {
            do {
                return try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
                    group.addTask { Array(buffer: try await body.collect(upTo: limit)) }
                    group.addTask {
                        try await clock.sleep(for: maximumBodyDuration)
                        return nil
                    }
                    defer { group.cancelAll() }
                    guard let bytes = try await group.next() ?? nil else { throw GatewayRequest.BodyError.incomplete }
                    return bytes
                }
            } catch {
                throw error is NIOTooManyBytesError ? .tooLarge : .incomplete
            }
        }

        private static func response(_ answer: GatewayAnswer) -> Response {
            var headers: HTTPFields = [.contentType: answer.contentType]
            if let seconds = answer.retryAfter?.components.seconds { headers[.retryAfter] = String(max(1, seconds)) }
            return Response(
                status: .init(code: answer.status), headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
        }
    }
}

/// What is known of a connection.
private struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let peer: IPAddress?

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        peer = source.channel.remoteAddress?.ipAddress.flatMap { IPAddress($0) }
    }
}
