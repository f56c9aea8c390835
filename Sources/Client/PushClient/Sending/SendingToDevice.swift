/// What a ``PushDelivery`` does for a single device.
struct SendingToDevice: Sendable {
    enum Action {
        case query
        case request(PublicKey, PushDevice)
    }

    private enum Phase {
        /// The next request to the first route is due at that time.
        case due(Duration)
        /// A request went to the first route's server at that time.
        case waiting(since: Duration)
        /// The token was wrong. A query for the current token is due.
        case wrongToken
        /// The query for the current token is in progress.
        case querying
        case over(DeliveryReport.Outcome)
    }

    let owner: PublicKey
    let installationID: String
    let keyHash: String
    /// The remaining routes. The first is in use.
    private var routes: [PushDelivery.Route]
    private var phase: Phase
    /// The servers that may accept, or may have accepted.
    private var asked: Set<PublicKey> = []
    /// Which server was the first to reject the token.
    private var wrongTokenServer: PublicKey?
    private var retryCount = 0
    private var lastRejection: DeviceReport.Outcome?
    /// The servers that do not know the device any more.
    private(set) var forgottenBy: Set<PublicKey> = []

    init(_ target: PushDelivery.Target) {
        owner = target.owner
        installationID = target.installationID
        keyHash = target.owner.hash.hex
        routes = target.routes
        phase = target.routes.isEmpty ? .over(.unknown) : .due(.zero)
    }

    var report: DeliveryReport? {
        guard case .over(let outcome) = phase else { return nil }
        return DeliveryReport(owner: owner, installationID: installationID, outcome: outcome)
    }

    mutating func next(at time: Duration) -> Action? {
        if case .waiting(let start) = phase { stopWaiting(since: start, at: time) }
        switch phase {
        case .due(let moment) where moment <= time:
            guard let route = routes.first else { return nil }
            asked.insert(route.server)
            phase = .waiting(since: time)
            return .request(
                route.server, PushDevice(owner: .key(owner), installationID: installationID, accessToken: route.accessToken))
        case .wrongToken:
            phase = .querying
            return .query
        case .due, .waiting, .querying, .over:
            return nil
        }
    }

    private mutating func stopWaiting(since start: Duration, at time: Duration) {
        if routes.count > 1 {
            if time >= start + PushDelivery.replyWait { takeNextRoute(at: time) }
        } else if time >= start + PushDelivery.longestReplyWait {
            phase = .over(lastRejection.map { .rejected($0) } ?? .noReply)
        }
    }

    mutating func received(_ outcome: DeviceReport.Outcome, from server: PublicKey, at time: Duration) {
        guard asked.contains(server) else { return }
        if outcome == .accepted {
            if case .over(let outcome) = phase, outcome.isAccepted { return }
            phase = .over(.accepted(by: server))
            return
        }
        // From previous servers, only a success still matters.
        guard case .waiting = phase, let route = routes.first, route.server == server else { return }
        lastRejection = outcome
        if outcome == .notRegistered { forgottenBy.insert(server) }
        switch outcome {
        case .wrongToken where wrongTokenServer == nil:
            wrongTokenServer = server
            phase = .wrongToken
        case .wrongToken where wrongTokenServer == server:
            // Servers echo each response, so this may be an echo under the same message id, and the response to the new token may still
            // arrive.
            break
        case .internalError where routes.count == 1 && retryCount < PushDelivery.maximumRetryCount:
            phase = .due(time + PushDelivery.retryDelay * (1 << retryCount))
            retryCount += 1
        default:
            takeNextRoute(at: time)
        }
    }

    mutating func learned(_ known: [PushDelivery.Route], at time: Duration) {
        guard case .querying = phase, let refused = routes.first else { return }
        // First comes the server with the renewed token, then servers without a request so far.
        let renewed = known.filter { $0.server == refused.server && $0.accessToken != refused.accessToken }.prefix(1)
        let others = known.filter { $0.server != refused.server && !asked.contains($0.server) }
        let untried = routes.dropFirst().filter { route in !others.contains { $0.server == route.server } }
        routes = [refused] + renewed + others + untried
        takeNextRoute(at: time)
    }

    private mutating func takeNextRoute(at time: Duration) {
        routes.removeFirst()
        phase = routes.isEmpty ? .over(lastRejection.map { .rejected($0) } ?? .noReply) : .due(time)
    }
}
