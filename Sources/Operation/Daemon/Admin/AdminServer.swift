import Bytes
import Foundation
import HTTPServing
import HTTPTypes
import Hummingbird
import HummingbirdCore
import JSON
import Logging
import NIOCore
import Observation
import ServiceLifecycle
import Settings
import StatusCrypto
import Store

/// The HTTP endpoints for operators: health, metrics, identity (INTERFACE.md, "Admin HTTP"). By default they listen on loopback.
struct AdminServer: Service {
    /// The values that the endpoints show. They are read again for each request.
    struct Content: HoldsSecret, Sendable {
        /// Looks whether the server is ready.
        var readiness: @Sendable () -> ReadinessBody
        /// Prometheus text.
        var metrics: @Sendable () -> String
        /// The response to `GET /identity`, an ``IdentityBody``.
        var identityJSON: String
        /// Takes the snapshot that the status page shows.
        var status: @Sendable () -> StatusSnapshot
        /// The runbook as HTML, or nil if the program was not installed with it.
        var runbook: String?
        /// Returns how far the push with a deduplication key has got, or nil if there is no such push.
        var progress: @Sendable (Digest32) async throws -> PushProgress?
        /// Restores registrations that were removed for dead device tokens, either those with the given ids or all. Returns how many were
        /// restored.
        var restoreDeadTokens: @Sendable ([Int64]?) async throws -> Int
        /// Begins to shut the server down.
        var drain: @Sendable () -> Void
        /// The token that a request must present to change the server's state.
        var token: AdminToken
        /// The host names under which the endpoints respond, in lower case, in addition to IP addresses and `localhost`.
        var allowedHosts: [String]
    }

    /// The limit is far more connections than a scraper that leaks some opens within ``idleTimeout``, because a health check without a
    /// connection fails.
    static let maximumConnectionCount = 1_024
    /// How long a connection without requests stays open.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// Enough for a few thousand ids.
    private static let maximumBodyByteCount = 64 << 10

    private let address: ListenAddress
    private let maximumConnectionCount: Int
    private let content: Content
    private let logger: Logger
    private let onListening: @Sendable (ListenAddress) async -> Void

    init(
        address: ListenAddress, maximumConnectionCount: Int, content: Content, logger: Logger,
        onListening: @escaping @Sendable (ListenAddress) async -> Void
    ) {
        self.address = address
        self.maximumConnectionCount = maximumConnectionCount
        self.content = content
        self.logger = logger
        self.onListening = onListening
    }

    func run() async throws {
        let host = address.host
        let listener = HTTPListener(
            host: host, port: address.port, maximumConnectionCount: maximumConnectionCount, idleTimeout: Self.idleTimeout,
            responder: try router().buildResponder(), logger: logger
        ) { bound in
            // The host as it is configured: operators know `localhost` by that name.
            await onListening(ListenAddress(host: host, port: ListenAddress(bound)?.port ?? address.port))
        }
        try await listener.run()
    }

    private func router() throws -> Router<BasicRequestContext> {
        // Probes often use HEAD.
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.add(middleware: AllowedHosts(content.allowedHosts + [address.host.lowercased()]))
        router.get("health/live") { _, _ in
            Self.respond(.ok, "{\"live\":true}", type: "application/json")
        }
        router.get("health/ready") { [content] _, _ in
            let body = content.readiness()
            return Self.respond(body.ready ? .ok : .serviceUnavailable, try body.json(), type: "application/json")
        }
        let page = try StatusPage()
        router.get("/") { [content] _, _ in
            Self.respond(html: page.html(content.status()))
        }
        if let runbook = content.runbook {
            router.get("\(RunbookPage.path)") { _, _ in Self.respond(html: runbook) }
        }
        router.get("status.json") { [content] _, _ in
            var response = Self.respond(.ok, try content.status().json(), type: "application/json")
            response.headers[.cacheControl] = "no-store"
            return response
        }
        router.get("metrics") { [content] _, _ in
            Self.respond(.ok, content.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
        router.get("identity") { [content] _, _ in
            Self.respond(.ok, content.identityJSON, type: "application/json")
        }
        router.get("pushes/{deduplicationKey}") { [content] _, context in
            guard let text = context.parameters.get("deduplicationKey"), let key = Hex.decode(text[...]).flatMap({ Digest32($0) }) else {
                return Self.respond(.badRequest, "expected the 64 hex digits of a deduplication key", type: "text/plain")
            }
            return try await Self.asking {
                guard let progress = try await content.progress(key) else {
                    return Self.respond(.notFound, "no such push", type: "text/plain")
                }
                return Self.respond(.ok, try PushProgressBody(progress).json(), type: "application/json")
            }
        }
        router.post("drain") { [content] request, _ in
            guard content.token.isShown(by: request.headers[.authorization]) else {
                return Self.respond(.unauthorized, "", type: "text/plain")
            }
            content.drain()
            let body = try JSONEncoder().encode(DrainBody(process: ProcessInfo.processInfo.processIdentifier))
            return Self.respond(.accepted, String(decoding: body, as: UTF8.self), type: "application/json")
        }
        router.post("dead-tokens/restore") { [content] request, _ in
            try await Self.asking { try await Self.restore(request, content) }
        }
        return router
    }

    /// Responds with 503 and the reason if the store fails or does not answer.
    private static func asking(_ body: () async throws -> Response) async throws -> Response {
        do {
            return try await body()
        } catch let error where error is StoreError || error is StoreObserver.Silence {
            return respond(.serviceUnavailable, "\(error)", type: "text/plain")
        }
    }

    private static func restore(_ request: Request, _ content: Content) async throws -> Response {
        guard content.token.isShown(by: request.headers[.authorization]) else { return respond(.unauthorized, "", type: "text/plain") }
        let body = try await request.body.collect(upTo: maximumBodyByteCount)
        guard let wanted = try? JSON.decode(RestoreBody.self, from: Array(body.readableBytesView)) else {
            return respond(.badRequest, "expected {\"ids\":[1,2]} or {\"ids\":null} for all", type: "text/plain")
        }
        let count = try await content.restoreDeadTokens(wanted.ids)
        // Owners may have registered again for some of the ids, but a request that doesn't restore any of its ids is a mistake.
        guard count > 0 || wanted.ids == nil else {
            return respond(
                .notFound, "none of them can be restored: they are unknown, or their owners have registered or unregistered since",
                type: "text/plain")
        }
        return respond(.ok, "{\"restored\":\(count)}", type: "application/json")
    }

    private struct RestoreBody: Decodable {
        var ids: [Int64]?
    }

    private static func respond(html: String) -> Response {
        var response = respond(.ok, html, type: "text/html; charset=utf-8")
        response.headers[.contentSecurityPolicy] = StatusPage.contentSecurityPolicy
        response.headers[.cacheControl] = "no-store"
        return response
    }

    private static func respond(_ status: HTTPResponse.Status, _ body: String, type: String) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: body + "\n")))
    }
}
