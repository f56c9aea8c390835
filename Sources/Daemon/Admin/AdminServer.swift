import Delivery
import Foundation
import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import ServiceLifecycle
import StatusCrypto
import Store

/// The operator's HTTP face: health, metrics, identity (INTERFACE.md, "Admin HTTP"). On loopback by default.
struct AdminServer: Service {
    /// What the endpoints show; each is asked for anew at every request.
    struct Content: Sendable {
        /// Why the server is not ready; empty when it is.
        var healthIssues: @Sendable () async -> [String]
        /// What does not keep it from being ready, and should be known.
        var warnings: @Sendable () -> [String]
        /// Prometheus text.
        var metrics: @Sendable () async -> String
        /// The identity as JSON.
        var identityJSON: String
        /// A call of gorush's feedback hook; nil in a dry run.
        var feedback: (@Sendable (GorushFailure) async -> Void)?
        /// What gorush has to show; nil: nothing.
        var feedbackSecret: String?
        /// How far the push with a deduplication key has got; nil if the store has none.
        var progress: @Sendable (Digest32) async throws -> PushProgress?
        /// Puts registrations back whose device tokens were taken for dead, all or those named; how many are live again.
        var restoreDeadTokens: @Sendable ([Int64]?) async throws -> Int
        /// What tools that change something have to show.
        var token: AdminToken
        /// Names under which the endpoints may be asked, beside IP addresses and `localhost`; in lower case.
        var allowedHosts: [String]
    }

    /// Scrapers and health checks are few: so many connections are nobody's intention. Far more than a scraper that leaks some would
    /// open within ``idleTimeout``, for what finds no room is a health check that fails.
    static let maximumConnectionCount = 1_024
    /// A connection on which nothing has come for so long is closed, and leaves its room to others.
    private static let idleTimeout = TimeAmount.seconds(30)
    /// An entry of gorush's log is some hundred bytes.
    private static let maximumBodyByteCount = 64 << 10
    private static let feedbackSecretHeader = HTTPField.Name("X-Feedback-Secret") ?? .authorization

    private let address: ListenAddress
    private let maximumConnectionCount: Int
    private let content: Content
    private let feedbackSecret: FeedbackSecret
    private let logger: Logger
    private let onListening: @Sendable (ListenAddress) async -> Void

    init(
        address: ListenAddress, maximumConnectionCount: Int, content: Content, logger: Logger,
        onListening: @escaping @Sendable (ListenAddress) async -> Void
    ) {
        self.address = address
        self.maximumConnectionCount = maximumConnectionCount
        self.content = content
        feedbackSecret = FeedbackSecret(content.feedbackSecret, logger: logger)
        self.logger = logger
        self.onListening = onListening
    }

    func run() async throws {
        let host = address.host
        let application = Application(
            router: router(),
            server: .http1(configuration: .init(idleTimeout: Self.idleTimeout)),
            configuration: ApplicationConfiguration(
                address: .hostname(host, port: address.port),
                availableConnectionsDelegate: MaximumAvailableConnections(maximumConnectionCount)),
            onServerRunning: { channel in
                await onListening(ListenAddress(host: host, port: channel.localAddress?.port ?? address.port))
            },
            logger: logger)
        try await application.run()
    }

    private func router() -> Router<BasicRequestContext> {
        // Probes often ask with HEAD.
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.add(middleware: AllowedHosts(content.allowedHosts + [address.host.lowercased()]))
        router.get("health/live") { _, _ in
            Self.respond(.ok, "{\"live\":true}", type: "application/json")
        }
        router.get("health/ready") { [content] _, _ in
            let healthIssues = await content.healthIssues()
            let body = ReadinessBody(ready: healthIssues.isEmpty, reasons: healthIssues, warnings: content.warnings())
            return Self.respond(healthIssues.isEmpty ? .ok : .serviceUnavailable, try body.json(), type: "application/json")
        }
        router.get("metrics") { [content] _, _ in
            Self.respond(.ok, await content.metrics(), type: "text/plain; version=0.0.4; charset=utf-8")
        }
        router.get("identity") { [content] _, _ in
            Self.respond(.ok, content.identityJSON, type: "application/json")
        }
        router.get("pushes/{deduplicationKey}") { [content] _, context in
            guard let text = context.parameters.get("deduplicationKey"), let key = Hex.decode(text[...]).flatMap({ Digest32($0) }) else {
                return Self.respond(.badRequest, "expected the 64 hex digits of a deduplication key", type: "text/plain")
            }
            guard let progress = try await content.progress(key) else {
                return Self.respond(.notFound, "no such push", type: "text/plain")
            }
            return Self.respond(.ok, try PushProgressBody(progress).json(), type: "application/json")
        }
        if content.feedback != nil {
            router.post("gorush/feedback") { [content, feedbackSecret] request, _ in
                guard feedbackSecret.isShown(by: request.headers[values: Self.feedbackSecretHeader].first) else {
                    return Self.respond(.unauthorized, "", type: "text/plain")
                }
                return try await Self.takeFeedback(request, content)
            }
        }
        router.post("dead-tokens/restore") { [content] request, _ in try await Self.restore(request, content) }
        return router
    }

    /// gorush asks once and takes nothing but 200 for an answer (GORUSH.md §8).
    private static func takeFeedback(_ request: Request, _ content: Content) async throws -> Response {
        let body = try await request.body.collect(upTo: maximumBodyByteCount)
        guard let failure = GorushFailure(feedback: Array(body.readableBytesView)) else {
            return respond(.badRequest, "not an entry of gorush's log", type: "text/plain")
        }
        await content.feedback?(failure)
        return respond(.ok, "", type: "text/plain")
    }

    private static func restore(_ request: Request, _ content: Content) async throws -> Response {
        guard content.token.isShown(by: request.headers[.authorization]) else { return respond(.unauthorized, "", type: "text/plain") }
        let body = try await request.body.collect(upTo: maximumBodyByteCount)
        guard let wanted = try? JSONDecoder().decode(RestoreBody.self, from: Data(body.readableBytesView)) else {
            return respond(.badRequest, "expected {\"ids\":[1,2]} or {\"ids\":null} for all", type: "text/plain")
        }
        let count = try await content.restoreDeadTokens(wanted.ids)
        // Some of those named may have come back by themselves; if nothing was to be done for any of them, somebody is mistaken.
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

    private static func respond(_ status: HTTPResponse.Status, _ body: String, type: String) -> Response {
        Response(status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: body + "\n")))
    }
}
