import HTTPClient

/// Hands batches to one gorush (GORUSH.md).
struct GorushClient: Sendable {
    struct Configuration: Sendable {
        /// `http` or `https`, with a path if gorush is behind a proxy: `https://host/gorush`.
        var url: String
        /// Such as `Authorization`, for a proxy: gorush itself has no authentication (GORUSH.md §9).
        var headers: [(name: String, value: String)] = []
        /// In sync mode gorush answers when Apple or Google has: it waits up to 60 s for an iOS push (GORUSH.md §2.5).
        var timeout = Duration.seconds(60)
    }

    /// A hundred failures, a full batch of one token each, are about 50 KB. A longer answer is `GorushAnswer.unknown`.
    private static let maximumAnswerByteCount = 1 << 20

    private let http: HTTPClient
    let configuration: Configuration
    private let baseURL: String

    init(http: HTTPClient, configuration: Configuration) {
        self.http = http
        self.configuration = configuration
        baseURL = Self.withoutTrailingSlashes(configuration.url)
    }

    /// Posts one batch, once. An empty one is accepted without asking.
    ///
    /// - Parameter notifications: at most gorush's `core.max_notification`; a larger batch is refused whole.
    func post(_ notifications: [GorushNotification]) async -> GorushAnswer {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        guard let body = try? GorushNotification.body(notifications) else { return .refused(message: nil) }
        let request = HTTPRequest(
            method: .post,
            url: baseURL + "/api/push",
            headers: configuration.headers + [("Content-Type", "application/json")],
            body: body,
            timeout: configuration.timeout,
            maximumResponseBodyByteCount: Self.maximumAnswerByteCount)
        do throws(HTTPError) {
            return GorushAnswer(try await http.send(request), expectedCount: notifications.reduce(0) { $0 + $1.expectedCount })
        } catch {
            return GorushAnswer(error)
        }
    }

    /// What asking gorush for its configuration can give.
    enum Probe: Sendable, Equatable {
        case instance(GorushInstance)
        /// Somebody answers, and does not say: many a proxy lets only pushes through.
        case silent
        /// Nobody answers, or only something in front of it.
        case unreachable
    }

    /// Asks gorush how it is set up.
    func probe() async -> Probe {
        let request = HTTPRequest(
            method: .get, url: baseURL + "/api/config", headers: configuration.headers,
            timeout: min(configuration.timeout, Self.probeTimeout),
            maximumResponseBodyByteCount: GorushInstance.maximumByteCount)
        guard let response = try? await http.send(request), ![502, 503, 504].contains(response.status) else { return .unreachable }
        guard response.status == 200, let instance = GorushInstance(yaml: response.body) else { return .silent }
        return .instance(instance)
    }

    /// Of what it tells nothing is worth waiting for.
    private static let probeTimeout = Duration.seconds(5)

    /// gorush knows neither `//api/push` nor `/api/push/` (GORUSH.md §1).
    private static func withoutTrailingSlashes(_ base: String) -> String {
        var base = base[...]
        while base.hasSuffix("/") { base.removeLast() }
        return String(base)
    }
}
