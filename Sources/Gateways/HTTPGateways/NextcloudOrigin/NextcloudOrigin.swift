package import Bytes
package import Envelope
import Foundation
import HTTPClient
package import Logging
package import ServerCrypto
import StatusCrypto
package import Store
import Synchronization
import Tasks

/// A Nextcloud server's push API. Apps register their devices, and the operator's backend passes notifications, which are sent to the
/// devices' push proxies (GATEWAY_PROTOCOLS.md §4). The backend authenticates users.
package final class NextcloudOrigin: Gateway {
    package struct Configuration: HoldsSecret, Sendable {
        /// The URL that users see. Cloud ids are `uid@host`.
        package var serverURL: String
        /// The bearer token that the backend shows at `/notify`.
        package var backendToken: String
        package var allowsLocalProxies: Bool
        package var padding: RSAPadding
        /// The push proxy of devices that register by the v3 draft. nil means that v3 is not served.
        package var pushServer: ProxyURL?

        package init(
            serverURL: String, backendToken: String, allowsLocalProxies: Bool = false, padding: RSAPadding = .oaep,
            pushServer: ProxyURL? = nil
        ) {
            self.serverURL = serverURL
            self.backendToken = backendToken
            self.allowsLocalProxies = allowsLocalProxies
            self.padding = padding
            self.pushServer = pushServer
        }
    }

    /// How many authenticated requests an address may send per minute. Each costs a request to the backend, and may try a password.
    static let sessionsPerMinute = 60

    let configuration: Configuration
    let store: any OriginStore
    let keys: UserSigningKeys
    let wallClock: WallClock
    let metrics = OriginMetrics()
    let failures: FailureLog
    let onWaiting: @Sendable ([WaitingProxy]) -> Void
    private let backend: any AuthenticationBackend
    private let elapsed: @Sendable () -> Duration
    private let sessions = Mutex(RateLimiter(sessionsPerMinute, every: .seconds(60)))

    /// - Parameters:
    ///   - sealingKey: The key that seals the users' keys in the store.
    ///   - clock: The clock for rate limits.
    ///   - onWaiting: Called when pushes may wait for proxies.
    package init(
        configuration: Configuration, store: any OriginStore, backend: any AuthenticationBackend, sealingKey: SymmetricKey,
        clock: some Clock<Duration>,
        wallClock: WallClock, logger: Logger, onWaiting: @escaping @Sendable ([WaitingProxy]) -> Void
    ) {
        self.configuration = configuration
        self.store = store
        self.backend = backend
        keys = UserSigningKeys(store: store, sealingKey: sealingKey)
        elapsed = clock.stopwatch()
        self.wallClock = wallClock
        failures = FailureLog(logger, clock: clock)
        self.onWaiting = onWaiting
    }

    package func answer(_ request: GatewayRequest) async -> GatewayResponse? {
        do {
            if request.path == "/notify" { return try await notify(request) }
            guard request.path.hasPrefix(Self.prefix) else { return nil }
            return try await ocs(request).answer(asJSON: Self.wantsJSON(request))
        } catch let error as GatewayRequest.BodyError {
            return GatewayResponse(error)
        } catch let error as TooManyRequests {
            return .tooManyRequests(error.retryAfter)
        } catch is AuthenticationBackendError {
            failures.report("the backend of the Nextcloud origin failed to authenticate a client")
            return .text(502, "Bad Gateway")
        } catch is CancellationError {
            // The client has disconnected or the server stops, so the response is not read.
            return .unavailable
        } catch StoreError.queueFull {
            failures.report("rejected notifications of the backend because the queue of the Nextcloud origin is full")
            return .queueFull
        } catch {
            failures.report("the Nextcloud origin cannot respond", error)
            return .unavailable
        }
    }

    // MARK: OCS

    private static let prefix = "/ocs/v2.php"
    private static let proofPath = "/identityproof/key/"

    private static func wantsJSON(_ request: GatewayRequest) -> Bool {
        let format = FormFields.read(Array(request.query.utf8))?.last { $0.name == "format" }?.value
        return format.map { $0 == "json" } ?? request.headers["Accept"]?.lowercased().contains("application/json") ?? false
    }

    private func ocs(_ request: GatewayRequest) async throws -> OCSResponse {
        // A link cannot make a browser send this header, so no page acts in a user's name.
        guard request.headers["OCS-APIRequest"] == "true" || request.headers["Authorization"]?.hasPrefix("Bearer ") == true else {
            return .csrf
        }
        let path = request.path.dropFirst(Self.prefix.count)
        switch (request.method, path) {
        case ("GET", "/cloud/capabilities"): return capabilities
        case ("GET", _) where path.hasPrefix(Self.proofPath): return try await identityProof(of: path.dropFirst(Self.proofPath.count))
        case ("POST", "/apps/notifications/api/v2/push"): return try await register(request, .v2)
        case ("DELETE", "/apps/notifications/api/v2/push"): return try await unregister(request)
        case ("POST", "/apps/notifications/api/v3/push"):
            guard let pushServer = configuration.pushServer else { return .notFound }
            return try await register(request, .v3(pushServer: pushServer))
        case ("DELETE", "/apps/notifications/api/v3/push"):
            guard let pushServer = configuration.pushServer else { return .notFound }
            return try await unregisterByKey(request, .v3(pushServer: pushServer))
        default: return .notFound
        }
    }

    private var capabilities: OCSResponse {
        let endpoints = configuration.pushServer == nil ? [] : ["push"]
        let notifications = OCSResponse.Value.object([
            ("ocs-endpoints", .texts(endpoints)), ("push", .texts(["devices", "object-data", "delete"])),
        ])
        return OCSResponse(200, .object([("capabilities", .object([("notifications", notifications)]))]))
    }

    private func identityProof(of encoded: Substring) async throws -> OCSResponse {
        guard let user = String(encoded).removingPercentEncoding, let key = try await keys.find(user) else {
            return OCSResponse(404, .texts(["User not found"]))
        }
        return OCSResponse(200, .object([("public", .text(key.publicKey.pem))]))
    }

    private struct TooManyRequests: Error {
        let retryAfter: Duration
    }

    /// - Returns: The client's session, or nil if the backend rejects the client.
    func session(_ request: GatewayRequest) async throws -> Session? {
        guard let authorization = request.headers["Authorization"] else { return nil }
        let now = elapsed()
        if let wait = sessions.withLock({ $0.take(for: request.client, at: now) }) { throw TooManyRequests(retryAfter: wait) }
        return try await backend.session(authorization: authorization)
    }
}
