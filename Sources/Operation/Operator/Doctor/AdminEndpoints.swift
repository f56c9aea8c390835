import Bytes
package import Foundation
import HTTPClient
import JSON
import Observation
package import PushClient
import StatusCrypto

/// A server's admin endpoints, from which a checkup reads whether the server delivers its pushes.
package struct AdminEndpoints {
    package static let defaultURL = "http://127.0.0.1:8646"

    /// Whether the server delivers, according to the endpoints.
    enum Delivery {
        case works(warnings: [String])
        case fails(reasons: [String], warnings: [String])
        /// The endpoints did not respond, or were not asked.
        case unknown(String)
        /// The endpoints belong to another server.
        case otherServer(String)

        var isKnown: Bool {
            switch self {
            case .works, .fails: true
            case .unknown, .otherServer: false
            }
        }

        var warnings: [String] {
            switch self {
            case .works(let warnings), .fails(_, let warnings): warnings
            case .unknown, .otherServer: []
            }
        }

        /// Returns what is wrong with the delivery, or nil if it works.
        ///
        /// - Parameter isAsked: Whether the operator named the endpoints. If not, an unknown state is not a problem.
        func problem(isAsked: Bool) -> Checkup.Problem? {
            switch self {
            case .works: nil
            case .fails(let reasons, _): .wrong("The server is not ready: \(PeerText(reasons.joined(separator: "; ")).description)")
            case .unknown(let reason), .otherServer(let reason): isAsked ? .wrong(reason) : nil
            }
        }

        /// The warnings, as lines in the report.
        var notes: [String] {
            switch self {
            case .works(let warnings), .fails(_, let warnings): warnings.map { "warning             \($0)" }
            case .unknown(let reason), .otherServer(let reason): ["unknown delivery    accepted, delivery not checked: \(reason)"]
            }
        }
    }

    private static let timeout = Duration.seconds(10)
    private static let maximumByteCount = 1 << 20

    let url: String

    /// - Parameter url: The endpoints' URL, or nil for the default.
    package init(url: String?) {
        self.url = url ?? Self.defaultURL
    }

    private struct Identity: Decodable {
        var publicKey: String
    }

    private struct Health: Decodable {
        var ready: Bool
        var reasons: [String]
        var warnings: [String]
    }

    func delivery(of server: PushClient.PublicKey) async -> Delivery {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        guard let identity = await get("/identity", as: Identity.self, http), let health = await get("/health/ready", as: Health.self, http)
        else { return .unknown("No admin endpoints respond at \(url). Name them with --admin.") }
        guard identity.publicKey == server.hex else {
            return .otherServer(
                "The admin endpoints at \(url) are another server's, \(identity.publicKey). The server to check is \(server.hex).")
        }
        return health.ready ? .works(warnings: health.warnings) : .fails(reasons: health.reasons, warnings: health.warnings)
    }

    /// Returns the key of the server that answers.
    ///
    /// - Throws: ``Failure`` of kind `usage` if none does.
    package func publicKey() async throws(Failure) -> PushClient.PublicKey {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        guard let identity = await get("/identity", as: Identity.self, http), let key = try? PublicKey(hex: identity.publicKey) else {
            throw .usage(
                """
                Which server? Give its public key with --server or PUSHCTL_SERVER; `pushserver identity` prints it. No admin endpoints \
                respond at \(url), which would tell it.
                """)
        }
        return key
    }

    /// The body of `GET /pushes/KEY`.
    private struct Push: Decodable {
        var state: String
        var attempts: Int
        var reason: String?
        /// An older server does not have them.
        var words: String?
    }

    /// gorush waits up to 60 s for Apple or Google, and a push may wait for its turn.
    private static let outcomeTimeout = Duration.seconds(120)

    /// Waits for the result of a push's first attempt, unless no route for its platform delivers.
    ///
    /// - Parameter platform: `ios` or `android`.
    /// - Returns: The problem, or nil if the push was delivered.
    func outcome(of push: Digest32, on platform: String) async -> Checkup.Problem? {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        let end = ContinuousClock.now + Self.outcomeTimeout
        while ContinuousClock.now < end {
            guard let progress = await get("/pushes/\(Hex.encode(push.bytes))", as: Push.self, http) else {
                return .wrong("The admin endpoints at \(url) do not know the push. Name this server's with --admin.")
            }
            switch (progress.state, Remedy.text(reason: progress.reason, words: progress.words)) {
            case ("sent", _): return nil
            case ("waiting", let reason?): return .wrong("The push is not delivered, and waits: \(reason)")
            case ("waiting", nil):
                if let reasons = await reasonsOfNoDelivery(on: platform, http) {
                    return .wrong("The push waits, because nothing is delivered: \(reasons)")
                }
            case (let state, let reason): return .wrong("The push was not delivered (\(state)): \(reason ?? "dry run")")
            }
            guard (try? await Task.sleep(for: .milliseconds(200))) != nil else { break }
        }
        return .wrong("gorush has not responded for \(Self.outcomeTimeout).")
    }

    /// Returns why no route for a platform delivers, or nil if any does, or if the server does not say.
    private func reasonsOfNoDelivery(on platform: String, _ http: HTTPClient) async -> String? {
        guard let status = await get("/status.json", as: StatusSnapshot.self, http) else { return nil }
        let routes = status.routes.filter { $0.platform == platform }
        guard !routes.contains(where: \.isDelivering) else { return nil }
        let reasons = status.issues.map(\.text).filter { text in routes.contains { text.hasPrefix("delivery \($0.name): ") } }
        return reasons.isEmpty ? nil : reasons.joined(separator: "; ")
    }

    /// Returns the newest automatic backup's age in seconds, or nil if none exists, or the endpoints do not respond.
    func newestBackupSeconds() async -> Int? {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        return await get("/status.json", as: StatusSnapshot.self, http)?.newestBackupSeconds
    }

    /// Returns the body of `GET /status.json`.
    ///
    /// - Throws: ``Failure`` of kind `unavailable` if no server answers.
    package func status() async throws(Failure) -> Data {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        do {
            let response = try await http.send(request("/status.json"))
            guard response.status == 200 else {
                throw Failure.unavailable(
                    "\(url) responds with \(response.status) instead of its status. Name a server's admin endpoints with --admin.")
            }
            return Data(response.body)
        } catch let failure as Failure {
            throw failure
        } catch {
            throw .unavailable(
                "No admin endpoints respond at \(url). Is the server running? Name its admin.listen with --admin.")
        }
    }

    private func request(_ path: String) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + path, timeout: Self.timeout,
            maximumResponseBodyByteCount: Self.maximumByteCount)
    }

    private func get<Answer: Decodable>(_ path: String, as type: Answer.Type, _ http: HTTPClient) async -> Answer? {
        // A server that is not ready responds with 503.
        guard let response = try? await http.send(request(path)), [200, 503].contains(response.status) else { return nil }
        return try? JSON.decode(type, from: response.body)
    }
}
