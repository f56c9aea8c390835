import HTTPClient
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import ServiceLifecycle
import Synchronization

/// The listener that all gateways share.
package struct GatewayServer: Service {
    package struct Configuration: Sendable {
        package var host: String
        /// The port. 0 means any free port.
        package var port: Int
        package var clientAddress: ClientAddress
        /// The maximum number of connections. Further connections wait to be accepted.
        package var maximumConnectionCount: Int
        /// The memory that the bodies of all requests in progress share.
        package var bodyByteCount: Int

        /// Idle connections cost a few kilobytes each, so this leaves capacity for active connections.
        package static let defaultMaximumConnectionCount = 20_000
        /// A quarter of what the systemd unit allows the process (`MemoryMax`).
        package static let defaultBodyByteCount = 256 << 20

        package init(
            host: String, port: Int, clientAddress: ClientAddress = ClientAddress(),
            maximumConnectionCount: Int = Self.defaultMaximumConnectionCount, bodyByteCount: Int = Self.defaultBodyByteCount
        ) {
            self.host = host
            self.port = port
            self.clientAddress = clientAddress
            self.maximumConnectionCount = maximumConnectionCount
            self.bodyByteCount = bodyByteCount
        }
    }

    /// The time after which an idle connection is closed. Phones and servers send their request immediately.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// The time for which the server discards what a client sends after its last response.
    private static let lingerTime = TimeAmount.seconds(2)

    private let configuration: Configuration
    private let gateways: [any Gateway]
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let onListening: @Sendable (String) async -> Void

    /// - Parameters:
    ///   - gateways: The gateways, tried in this order.
    ///   - clock: Times request bodies.
    ///   - onListening: Receives the bound address, `host:port`.
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
    /// - Throws: An error if the address cannot be bound.
    package func run() async throws {
        let handler = RequestHandler(configuration, gateways, clock, logger)
        let listener = HTTPListener(
            host: configuration.host, port: configuration.port, maximumConnectionCount: configuration.maximumConnectionCount,
            idleTimeout: Self.idleTimeout, clock: clock, channelHandlers: [ConnectionEnd()],
            responder: CallbackResponder<GatewayContext> { request, context in
                await handler.respond(to: request, on: context.channel)
            },
            logger: logger, onListening: onListening)
        try await listener.run()
    }

    /// Passes requests to the gateways.
    private final class RequestHandler: Sendable {
        private let clientAddress: ClientAddress
        private let gateways: [any Gateway]
        private let reader: BodyReader
        private let logger: Logger
        private let hasWarnedOfProxy = Atomic(false)
        private let hasWarnedOfAddress = Atomic(false)

        init(_ configuration: Configuration, _ gateways: [any Gateway], _ clock: any Clock<Duration>, _ logger: Logger) {
            clientAddress = configuration.clientAddress
            self.gateways = gateways
            reader = BodyReader(clock: clock, byteCount: configuration.bodyByteCount)
            self.logger = logger
        }

        func respond(to request: Request, on channel: any Channel) async -> Response {
            // Only IP sockets have an address.
            guard let peer = channel.remoteAddress?.ipAddress.flatMap({ IPAddress($0) }),
                let forwardedFor = HTTPField.Name("X-Forwarded-For")
            else { return Self.response(.badRequest) }
            let (client, fault) = clientAddress.resolve(peer: peer, forwarded: request.headers[values: forwardedFor])
            if let fault { warn(about: fault) }
            return await reader.withBody(request.body, from: client) { body in
                let question = GatewayRequest(
                    method: request.method.rawValue, target: request.head.path ?? "/",
                    headers: HTTPHeaders(request.headers.map { (name: $0.name.rawName, value: $0.value) }), client: client,
                    connectionEnd: { try? await channel.pipeline.handler(type: ConnectionEnd.self).get().wait() },
                    readBody: { limit async throws(GatewayRequest.BodyError) in try await body.read(within: limit) })
                let answer = await answer(question)
                // A body that nobody has read would keep the connection until the client has sent all of it.
                let isLast = Self.hasBody(request) && !body.wasRead
                return isLast ? Self.lastResponse(answer, on: channel) : Self.response(answer)
            }
        }

        private func warn(about fault: ClientAddress.Fault) {
            switch fault {
            case .untrustedProxy where !hasWarnedOfProxy.exchange(true, ordering: .relaxed):
                logger.warning(
                    """
                    requests to the gateways come with X-Forwarded-For from an address that is not in gateways.trustedProxies: everybody \
                    behind it shares one limit
                    """)
            case .unreadable where !hasWarnedOfAddress.exchange(true, ordering: .relaxed):
                logger.warning(
                    """
                    a proxy in gateways.trustedProxies names a client in X-Forwarded-For that is no IP address: all such clients share \
                    one limit
                    """)
            default: break
            }
        }

        private static func hasBody(_ request: Request) -> Bool {
            request.headers[.transferEncoding] != nil || request.headers[.contentLength].map { $0 != "0" } ?? false
        }

        private func answer(_ request: GatewayRequest) async -> GatewayResponse {
            for gateway in gateways {
                if let answer = await gateway.answer(request) { return answer }
            }
            return .text(404, "Not Found")
        }

        private static func response(_ answer: GatewayResponse) -> Response {
            Response(
                status: .init(code: answer.status), headers: headers(answer),
                body: ResponseBody(byteBuffer: ByteBuffer(string: answer.body)))
        }

        /// Half-closes immediately and fully closes later, so that a client that still sends doesn't lose the response to a reset.
        private static func lastResponse(_ answer: GatewayResponse, on channel: any Channel) -> Response {
            var headers = headers(answer)
            headers[.connection] = "close"
            return Response(
                status: .init(code: answer.status), headers: headers,
                body: ResponseBody(contentLength: answer.body.utf8.count) { writer in
                    try await writer.write(ByteBuffer(string: answer.body))
                    try await writer.finish(nil)
                    channel.close(mode: .output, promise: nil)
                    channel.eventLoop.scheduleTask(in: lingerTime) { channel.close(promise: nil) }
                })
        }

        private static func headers(_ answer: GatewayResponse) -> HTTPFields {
            var headers: HTTPFields = [.contentType: answer.contentType]
            if let seconds = answer.retryAfter?.components.seconds { headers[.retryAfter] = String(max(1, seconds)) }
            return headers
        }
    }
}

/// A request's connection.
private struct GatewayContext: RequestContext {
    var coreContext: CoreRequestContextStorage
    let channel: any Channel

    init(source: ApplicationRequestContextSource) {
        coreContext = .init(source: source)
        channel = source.channel
    }
}
