import Foundation
import HTTPClient
import PushClient

/// A server's admin endpoints, asked whether what the server accepts is delivered.
package struct AdminEndpoints {
    package static let defaultURL = "http://127.0.0.1:8646"

    /// What they say.
    enum Delivery {
        case works(warnings: [String])
        case fails(reasons: [String], warnings: [String])
        /// The endpoints do not answer, or nobody asked them.
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

        /// What is wrong.
        ///
        /// - Parameter isAsked: Whether the operator named the endpoints.
        func problem(isAsked: Bool) -> Checkup.Problem? {
            switch self {
            case .works: nil
            case .fails(let reasons, _): .wrong("The server is not ready: \(reasons.joined(separator: "; "))")
            case .unknown(let reason), .otherServer(let reason): isAsked ? .wrong(reason) : nil
            }
        }

        /// Lines for a reader.
        var notes: [String] {
            switch self {
            case .works(let warnings), .fails(_, let warnings): warnings.map { "warning             \($0)" }
            case .unknown(let reason), .otherServer(let reason): ["unknown delivery    accepted, delivery not checked: \(reason)"]
            }
        }
    }

    private static let timeout = Duration.seconds(10)
    private static let maximumByteCount = 1 << 20

    private let url: String

    /// - Parameter url: nil: the default.
    init(url: String?) {
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

    func delivery(of server: IdentityKey) async -> Delivery {
        let http = HTTPClient(configuration: .init())
        defer { http.shutdown() }
        guard let identity = await get("/identity", as: Identity.self, http), let health = await get("/health/ready", as: Health.self, http)
        else { return .unknown("No server's admin endpoints answer at \(url). Name them with --admin.") }
        guard identity.publicKey == server.hex else {
            return .otherServer(
                "The admin endpoints at \(url) are another server's, \(identity.publicKey). The server to check is \(server.hex).")
        }
        return health.ready ? .works(warnings: health.warnings) : .fails(reasons: health.reasons, warnings: health.warnings)
    }

    private func get<Answer: Decodable>(_ path: String, as type: Answer.Type, _ http: HTTPClient) async -> Answer? {
        let request = HTTPRequest(
            method: .get, url: (url.hasSuffix("/") ? String(url.dropLast()) : url) + path, timeout: Self.timeout,
            maximumResponseBodyByteCount: Self.maximumByteCount)
        // A server that is not ready says so with 503.
        guard let response = try? await http.send(request), [200, 503].contains(response.status) else { return nil }
        return try? JSONDecoder().decode(type, from: Data(response.body))
    }
}
