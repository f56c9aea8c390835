import Bytes
import FoundationEssentials
import HTTPClient

/// Posts batches to a gorush (GORUSH.md).
struct GorushClient: HoldsSecret, Sendable {
    /// How many connections are tried for a request. The second connection helps if gorush has restarted or the first is too old.
    private static let connectionTryCount = 3
    /// A hundred failures, from a full batch with a token each, take about 50 KB. A longer response counts as `GorushResponse.unknown`.
    private static let maximumResponseByteCount = 1 << 20

    private let http: HTTPClient
    /// The URL without a trailing slash: gorush serves neither `//api/push` nor `/api/push/` (GORUSH.md §1).
    private let baseURL: String
    private let headers: [(name: String, value: String)]
    private let probeTimeout: Duration
    private let lanes = GorushLanes()

    /// - Parameter probeTimeout: How long to wait for a probe's response.
    init(http: HTTPClient, endpoint: DeliveryConfiguration.Endpoint, probeTimeout: Duration) {
        self.http = http
        baseURL = endpoint.url.replacing(/\/+$/, with: "")
        headers = endpoint.headers
        self.probeTimeout = probeTimeout
    }

    /// Posts a batch, at most once. An empty batch is accepted without a request.
    ///
    /// Nothing is posted over a connection before gorush's configuration was seen over it. Otherwise another gorush may listen there than
    /// before, and in asynchronous mode it would lose pushes that count as sent.
    ///
    /// - Parameter notifications: at most gorush's `core.max_notification`. A larger batch is refused whole.
    func post(_ notifications: [GorushNotification], timeout: Duration) async -> GorushResponse {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        let body = GorushNotification.body(notifications)
        var lane = lanes.take()
        defer { lanes.giveBack(lane) }
        for _ in 0..<Self.connectionTryCount {
            if !lane.isChecked, let obstacle = await check(lane) { return obstacle }
            do throws(HTTPError) {
                let response = try await http.send(push(body, in: lane, timeout: timeout))
                lane.isChecked = true
                return GorushResponse(response, expectedCount: notifications.reduce(0) { $0 + $1.expectedCount })
            } catch {
                lane.isChecked = false
                guard error.kind == .noKeptConnection else { return GorushResponse(error) }
            }
        }
        return .unfit(issue: Self.keepAliveIssue)
    }

    private static let keepAliveIssue =
        "gorush or a proxy closes each connection after one response; allow keep-alive, so that gorush is checked before each push"

    /// Checks gorush over a lane's connection.
    ///
    /// - Returns: What counts as the response if the request must not be sent, or nil if it may be.
    private func check(_ lane: GorushLanes.Lane) async -> GorushResponse? {
        switch await probe(in: lane) {
        case .instance(let instance): instance.configurationFault.map { .unfit(issue: $0) }
        case .silent: nil
        case .unusable(let issue): .unfit(issue: issue)
        case .unreachable(let reason): .unavailable(reason)
        }
    }

    /// Returns a request with pushes. In a lane it is only sent over the connection over which gorush was checked.
    private func push(_ body: [UInt8], in lane: GorushLanes.Lane?, timeout: Duration) -> HTTPRequest {
        var request = HTTPRequest(
            method: .post, url: baseURL + "/api/push", headers: headers + [("Content-Type", "application/json")], body: body,
            timeout: timeout, maximumResponseBodyByteCount: Self.maximumResponseByteCount)
        request.needsKeptConnection = lane != nil
        request.use(lane)
        return request
    }

    private func configurationRequest(in lane: GorushLanes.Lane?) -> HTTPRequest {
        var request = HTTPRequest(
            method: .get, url: baseURL + "/api/config", headers: headers, timeout: probeTimeout,
            maximumResponseBodyByteCount: GorushConfigurationText.maximumByteCount)
        request.use(lane)
        return request
    }

    /// What a request for gorush's configuration found out.
    enum Probe: Sendable, Equatable {
        case instance(GorushInstance)
        /// gorush accepts pushes and does not show its configuration: many proxies forward pushes only.
        case silent
        /// The endpoint responds and does not accept pushes from this server.
        case unusable(issue: String)
        /// gorush does not respond. At most a proxy in front of it does.
        case unreachable(Unavailability)
    }

    /// Requests gorush's configuration over a separate connection, because a kept connection may lead to another gorush than a new
    /// connection.
    func probe() async -> Probe { await probe(in: nil) }

    private func probe(in lane: GorushLanes.Lane?) async -> Probe {
        if let response = try? await http.send(configurationRequest(in: lane)), response.status == 200,
            let instance = GorushInstance(response.body)
        {
            return .instance(instance)
        }
        return await probeByPush(in: lane)
    }

    /// Posts an empty list: only a gorush behind the right path and password responds to it in the known words.
    private func probeByPush(in lane: GorushLanes.Lane?) async -> Probe {
        do throws(HTTPError) {
            var request = push(Array(#"{"notifications":[]}"#.utf8), in: lane, timeout: probeTimeout)
            request.needsKeptConnection = false
            let response = try await http.send(request)
            if GorushResponse.isOfEmptyList(response) { return .silent }
            switch GorushResponse(response, expectedCount: 0) {
            case .unavailable(let reason): return .unreachable(reason)
            case .wantsTLS: return .unusable(issue: GorushResponse.wantsTLSIssue)
            default: return .unusable(issue: GorushResponse.misconfigurationIssue(status: response.status))
            }
        } catch {
            if case .misconfigured = GorushResponse(error) {
                return .unusable(issue: GorushResponse.misconfigurationIssue(status: nil))
            }
            return .unreachable(Unavailability())
        }
    }
}

extension HTTPRequest {
    fileprivate mutating func use(_ lane: GorushLanes.Lane?) {
        self.lane = lane?.number
        isSeparate = lane == nil
    }
}
