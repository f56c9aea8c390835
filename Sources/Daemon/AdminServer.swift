import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle

/// The operator's HTTP face: health, metrics, identity (CONTRACT.md, "Admin HTTP"). On loopback by default; it has no authentication.
struct AdminServer: Service {
    /// What the endpoints show; each is asked for anew at every request.
    struct Content: Sendable {
        /// Why the server is not ready; empty when it is.
        var troubles: @Sendable () async -> [String]
        /// Prometheus text.
        var metrics: @Sendable () async -> String
        /// The identity as JSON.
        var identityJSON: String
    }

    /// Scrapers and health checks are few; more connections than this are nobody's intention.
    private static let maximumConnectionCount = 64

    private let address: ListenAddress
    private let content: Content
    private let logger: Logger
    private let onListening: @Sendable (ListenAddress) async -> Void

    init(address: ListenAddress, content: Content, logger: Logger, onListening: @escaping @Sendable (ListenAddress) async -> Void) {
        self.address = address
        self.content = content
        self.logger = logger
        self.onListening = onListening
    }

    func run() async throws {
        let host = address.host
        let application = Application(
            router: router(),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(Self.maximumConnectionCount)),
            onServerRunning: { channel in
                await onListening(ListenAddress(host: host, port: channel.localAddress?.port ?? address.port))
            },
            logger: logger)
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.get("health/live") { _, _ in
            Self.respond(.ok, "{\"live\":true}", type: "application/json")
        }
        router.get("health/ready") { [content] _, _ in
            let troubles = await content.troubles()
            let body = ReadinessBody(ready: troubles.isEmpty, reasons: troubles)
            return Self.respond(troubles.isEmpty ? .ok : .serviceUnavailable, try body.json(), type: "application/json")
        }
        router.get("metrics") { [content] _, _ in
            Self.respond(.ok, await content.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
        router.get("identity") { [content] _, _ in
            Self.respond(.ok, content.identityJSON, type: "application/json")
        }
        return router
    }

    private static func respond(_ status: HTTPResponse.Status, _ body: String, type: String) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: body + "\n")))
    }
}
