/// The part of a ``PushDelivery`` that is about one device.
struct DeviceDelivery: Sendable {
    enum Action {
        case query
        case request(IdentityKey, PushDevice)
    }

    private enum Phase {
        /// The first route is to be taken.
        case due(Duration)
        /// The server of the first route was asked at that time.
        case waiting(since: Duration)
        /// The token was wrong; the present one is to be looked up.
        case wrongToken
        /// It is being looked up.
        case querying
        case over(DeliveryReport.Outcome)
    }

    let person: IdentityKey
    let installationID: String
    let personHash: String
    /// The present one first; those of before are gone.
    private var routes: [PushDelivery.Route]
    private var phase: Phase
    /// Servers that may accept, or may have accepted.
    private var asked: Set<IdentityKey> = []
    /// Who called the token wrong that was known first.
    private var wrongTokenServer: IdentityKey?
    private var retryCount = 0
    private var lastRefusal: DeviceReport.Outcome?
    /// Servers that do not know the device any more.
    private(set) var forgottenBy: Set<IdentityKey> = []

    init(_ target: PushDelivery.Target) {
        person = target.person
        installationID = target.installationID
        personHash = target.person.hash.hex
        routes = target.routes
        phase = target.routes.isEmpty ? .over(.unknown) : .due(.zero)
    }

    var report: DeliveryReport? {
        guard case .over(let outcome) = phase else { return nil }
        return DeliveryReport(person: person, installationID: installationID, outcome: outcome)
    }

    mutating func next(at time: Duration) -> Action? {
        if case .waiting(let start) = phase { losePatience(since: start, at: time) }
        switch phase {
        case .due(let moment) where moment <= time:
            guard let route = routes.first else { return nil }
            asked.insert(route.server)
            phase = .waiting(since: time)
            return .request(
                route.server, PushDevice(person: .key(person), installationID: installationID, accessToken: route.accessToken))
        case .wrongToken:
            phase = .querying
            return .query
        case .due, .waiting, .querying, .over:
            return nil
        }
    }

    private mutating func losePatience(since start: Duration, at time: Duration) {
        if routes.count > 1 {
            if time >= start + PushDelivery.patience { takeNextRoute(at: time) }
        } else if time >= start + PushDelivery.lastPatience {
            phase = .over(lastRefusal.map { .refused($0) } ?? .noAnswer)
        }
    }

    mutating func received(_ outcome: DeviceReport.Outcome, from server: IdentityKey, at time: Duration) {
        guard asked.contains(server) else { return }
        if outcome == .accepted {
            if case .over(.accepted) = phase { return }
            phase = .over(.accepted(by: server))
            return
        }
        // Only a success of a server that was given up still matters.
        guard case .waiting = phase, let route = routes.first, route.server == server else { return }
        lastRefusal = outcome
        if outcome == .notRegistered { forgottenBy.insert(server) }
        switch outcome {
        case .wrongToken where wrongTokenServer == nil:
            wrongTokenServer = server
            phase = .wrongToken
        case .wrongToken where wrongTokenServer == server:
            // Servers say each answer again, and this one says the same under the same message id: the new token's may yet come.
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
        // With its new token the server that knows the device comes first; then those that were not asked yet.
        let renewed = known.filter { $0.server == refused.server && $0.accessToken != refused.accessToken }.prefix(1)
        let others = known.filter { $0.server != refused.server && !asked.contains($0.server) }
        let untried = routes.dropFirst().filter { route in !others.contains { $0.server == route.server } }
        routes = [refused] + renewed + others + untried
        takeNextRoute(at: time)
    }

    private mutating func takeNextRoute(at time: Duration) {
        routes.removeFirst()
        phase = routes.isEmpty ? .over(lastRefusal.map { .refused($0) } ?? .noAnswer) : .due(time)
    }
}
