import HTTPClient

/// Hands batches to one gorush (GORUSH.md).
struct GorushClient: Sendable {
    /// A hundred failures, a full batch of one token each, are about 50 KB. A longer answer is `GorushAnswer.unknown`.
    private static let maximumAnswerByteCount = 1 << 20

    private let http: HTTPClient
    /// gorush knows neither `//api/push` nor `/api/push/` (GORUSH.md §1).
    private let baseURL: String
    private let headers: [(name: String, value: String)]
    private let timeout: Duration
    private let probeTimeout: Duration

    /// - Parameter timeout: for the answer to a POST, `probeTimeout` for that to a probe.
    init(http: HTTPClient, endpoint: DeliveryConfiguration.Endpoint, timeout: Duration, probeTimeout: Duration) {
        self.http = http
        baseURL = endpoint.url.replacing(/\/+$/, with: "")
        headers = endpoint.headers
        self.timeout = timeout
        self.probeTimeout = probeTimeout
    }

    /// Posts one batch, once. An empty one is accepted without asking.
    ///
    /// - Parameter notifications: at most gorush's `core.max_notification`; a larger batch is refused whole.
    func post(_ notifications: [GorushNotification]) async -> GorushAnswer {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        guard let body = try? GorushNotification.body(notifications) else { return .refused(message: nil) }
        let request = HTTPRequest(
            method: .post, url: baseURL + "/api/push", headers: headers + [("Content-Type", "application/json")], body: body,
            timeout: timeout, maximumResponseBodyByteCount: Self.maximumAnswerByteCount)
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
            method: .get, url: baseURL + "/api/config", headers: headers, timeout: probeTimeout,
            maximumResponseBodyByteCount: GorushInstance.maximumByteCount)
        guard let response = try? await http.send(request), ![502, 503, 504].contains(response.status) else { return .unreachable }
        guard response.status == 200, let instance = GorushInstance(yaml: response.body) else { return .silent }
        return .instance(instance)
    }
}
