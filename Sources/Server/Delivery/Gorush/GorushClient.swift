import Bytes
import FoundationEssentials
import HTTPClient

/// Posts batches to one gorush (GORUSH.md).
struct GorushClient: HoldsSecret, Sendable {
    /// 1 MiB. A hundred failures, from a full batch of one token each, take about 50 KB. A longer response counts as
    /// `GorushResponse.unknown`.
    private static let maximumAnswerByteCount = 1 << 20

    private let http: HTTPClient
    /// The URL without a trailing slash: gorush serves neither `//api/push` nor `/api/push/` (GORUSH.md §1).
    private let baseURL: String
    private let headers: [(name: String, value: String)]
    private let probeTimeout: Duration

    /// - Parameter probeTimeout: for the answer to a probe.
    init(http: HTTPClient, endpoint: DeliveryConfiguration.Endpoint, probeTimeout: Duration) {
        self.http = http
        baseURL = endpoint.url.replacing(/\/+$/, with: "")
        headers = endpoint.headers
        self.probeTimeout = probeTimeout
    }

    /// Posts one batch, once. An empty batch is accepted without a request.
    ///
    /// - Parameter notifications: at most gorush's `core.max_notification`; a larger batch is refused whole.
    func post(_ notifications: [GorushNotification], timeout: Duration) async -> GorushResponse {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        let body = GorushNotification.body(notifications)
        do throws(HTTPError) {
            return GorushResponse(
                try await http.send(push(body, timeout: timeout)), expectedCount: notifications.reduce(0) { $0 + $1.expectedCount })
        } catch {
            return GorushResponse(error)
        }
    }

    private func push(_ body: [UInt8], timeout: Duration) -> HTTPRequest {
        HTTPRequest(
            method: .post, url: baseURL + "/api/push", headers: headers + [("Content-Type", "application/json")], body: body,
            timeout: timeout, maximumResponseBodyByteCount: Self.maximumAnswerByteCount)
    }

    private func get(_ path: String, maximumByteCount: Int) -> HTTPRequest {
        HTTPRequest(
            method: .get, url: baseURL + path, headers: headers, timeout: probeTimeout, maximumResponseBodyByteCount: maximumByteCount)
    }

    /// The result of a request for gorush's configuration.
    enum Probe: Sendable, Equatable {
        case instance(GorushInstance)
        /// gorush accepts pushes and does not show its configuration: many proxies forward pushes only.
        case silent
        /// The endpoint responds and does not accept pushes from this server.
        case unusable(issue: String)
        /// gorush does not respond; at most a proxy in front of it does.
        case unreachable
    }

    /// Requests gorush's configuration.
    func probe() async -> Probe {
        guard let response = try? await http.send(get("/api/config", maximumByteCount: GorushInstance.maximumByteCount)) else {
            return await probeByPush()
        }
        if response.status == 200, let instance = GorushInstance(yaml: response.body) { return .instance(instance) }
        return await probeByPush()
    }

    /// Posts an empty list: only a gorush behind the right path and password responds to it in the known words.
    private func probeByPush() async -> Probe {
        do throws(HTTPError) {
            let response = try await http.send(push(Array(#"{"notifications":[]}"#.utf8), timeout: probeTimeout))
            if GorushResponse.isOfEmptyList(response) { return .silent }
            switch GorushResponse(response, expectedCount: 0) {
            case .unavailable: return .unreachable
            case .wantsTLS: return .unusable(issue: GorushResponse.wantsTLSIssue)
            default: return .unusable(issue: GorushResponse.misconfigurationIssue(status: response.status))
            }
        } catch {
            if case .misconfigured = GorushResponse(error) {
                return .unusable(issue: GorushResponse.misconfigurationIssue(status: nil))
            }
            return .unreachable
        }
    }
}
