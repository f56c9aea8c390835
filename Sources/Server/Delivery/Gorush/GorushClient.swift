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
    private let trustsSyncMode: Bool
    private let lanes: GorushLanes
    private let presence: GorushPresence

    /// - Parameters:
    ///   - probeTimeout: How long to wait for a probe's response.
    ///   - trustsSyncMode: Whether a gorush that hides its configuration counts as one in sync mode.
    init(
        http: HTTPClient, endpoint: DeliveryConfiguration.Endpoint, probeTimeout: Duration, trustsSyncMode: Bool = false,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.trustsSyncMode = trustsSyncMode
        lanes = GorushLanes(clock: clock)
        presence = GorushPresence(clock: clock)
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
    /// - Parameters:
    ///   - notifications: at most gorush's `core.max_notification`. A larger batch is refused whole.
    ///   - onNewConnection: Whether to open a new connection, which may lead to another gorush.
    ///   - onFreshConnection: Whether the connection has to be new or used in the last second.
    ///   - isTrusted: Whether the connection is used again after that response.
    func post(
        _ notifications: [GorushNotification], timeout: Duration, onNewConnection: Bool = false, onFreshConnection: Bool = false,
        keepingConnectionIf isTrusted: (GorushResponse) -> Bool = { _ in true }
    ) async -> GorushResponse {
        guard !notifications.isEmpty else { return .accepted(failures: []) }
        let body = GorushNotification.body(notifications)
        var lane = onNewConnection ? lanes.takeNew() : lanes.take(mustBeFresh: onFreshConnection)
        let response = await post(body, expectedCount: notifications.reduce(0) { $0 + $1.expectedCount }, in: &lane, timeout: timeout)
        let confirmed = await confirm(response)
        if isTrusted(confirmed) { lanes.giveBack(lane) }
        return confirmed
    }

    private func post(
        _ body: [UInt8], expectedCount: Int, in lane: inout GorushLanes.Lane, timeout: Duration
    ) async -> GorushResponse {
        for _ in 0..<Self.connectionTryCount {
            if !lane.isChecked, let obstacle = await check(lane) { return obstacle }
            do throws(HTTPError) {
                let response = try await http.send(push(body, in: lane, timeout: timeout))
                lane.isChecked = true
                return GorushResponse(response, expectedCount: expectedCount)
            } catch {
                lane.isChecked = false
                guard error.kind == .noKeptConnection else { return GorushResponse(error) }
            }
        }
        return .unfit(issue: Self.keepAliveIssue)
    }

    private static let keepAliveIssue =
        "gorush or a proxy closes each connection after one response; allow keep-alive, so that gorush is checked before each push"

    /// Finds out whether gorush is there behind a proxy that answered instead of it. The answers of a second share a request.
    private func confirm(_ response: GorushResponse) async -> GorushResponse {
        switch response {
        case .unavailable(let reason) where reason.proxyStatus != nil:
            await presence.isThere(by: confirmation) ? .busy(reason) : response
        case .timedOut(let reason?):
            await presence.isThere(by: confirmation) ? .late : .timedOut(reason)
        default: response
        }
    }

    /// Whether gorush, and not a proxy, answers a request for its configuration. A refusal of that request shows it, too.
    private func confirmation() async -> Bool {
        guard let response = try? await http.send(configurationRequest(in: nil)) else { return false }
        return !GorushResponse.proxyStatuses.contains(response.status)
    }

    /// Checks gorush over a lane's connection.
    ///
    /// - Returns: What counts as the response if the request must not be sent, or nil if it may be.
    private func check(_ lane: GorushLanes.Lane) async -> GorushResponse? {
        switch await probe(in: lane) {
        case .instance(let instance): instance.configurationFault.map { .unfit(issue: $0) }
        case .silent: trustsSyncMode ? nil : .unfit(issue: GorushProfile.hiddenIssue)
        case .half: .unfit(issue: GorushProfile.halfIssue)
        case .unusable(let issue): .unfit(issue: issue)
        case .unreachable(let reason): .unavailable(reason)
        }
    }

    /// Checks that gorush can be used as for a push: with its configuration shown over a connection that stays open.
    ///
    /// - Returns: Why it cannot, or nil if it can.
    func checkConnection() async -> String? {
        let lane = lanes.takeNew()
        for _ in 0..<Self.connectionTryCount {
            switch await check(lane) {
            case nil: break
            case .unfit(let issue): return issue
            case .unavailable(let reason): return reason.proxyStatus == nil ? "no response" : reason.issue
            default: return Self.keepAliveIssue
            }
            var request = push(Array(#"{"notifications":[]}"#.utf8), in: lane, timeout: probeTimeout)
            request.needsKeptConnection = true
            do throws(HTTPError) {
                _ = try await http.send(request)
                return nil
            } catch {
                guard error.kind == .noKeptConnection else { return "no response" }
            }
        }
        return Self.keepAliveIssue
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
        /// gorush accepts pushes and does not show its configuration: some proxies forward pushes only.
        case silent
        /// gorush accepts pushes, and the requests for its configuration found nobody.
        case half
        /// The endpoint responds and does not accept pushes from this server.
        case unusable(issue: String)
        /// gorush does not respond. At most a proxy in front of it does.
        case unreachable(Unavailability)
    }

    /// Requests gorush's configuration over a separate connection, because a kept connection may lead to another gorush than a new
    /// connection.
    func probe() async -> Probe { await probe(in: nil) }

    /// One of two gorush behind one address may be away. Then the next request meets the other one, so a request without an answer hides
    /// nothing.
    private func probe(in lane: GorushLanes.Lane?) async -> Probe {
        for _ in 0..<2 {
            guard let response = try? await http.send(configurationRequest(in: lane)),
                !GorushResponse.proxyStatuses.contains(response.status)
            else { continue }
            if response.status == 200, let instance = GorushInstance(response.body) { return .instance(instance) }
            return await probeByPush(in: lane)
        }
        let probe = await probeByPush(in: lane)
        return probe == .silent && !trustsSyncMode ? .half : probe
    }

    /// Posts an empty list: only a gorush behind the right path and password responds to it in the known words.
    private func probeByPush(in lane: GorushLanes.Lane?) async -> Probe {
        do throws(HTTPError) {
            var request = push(Array(#"{"notifications":[]}"#.utf8), in: lane, timeout: probeTimeout)
            request.needsKeptConnection = false
            let response = try await http.send(request)
            if GorushResponse.isOfEmptyList(response) { return .silent }
            switch GorushResponse(response, expectedCount: 0) {
            case .unavailable(let reason), .timedOut(let reason?): return .unreachable(reason)
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
