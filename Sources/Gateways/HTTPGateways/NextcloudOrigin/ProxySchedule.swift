import Store

/// Decides which push proxy is posted to next, with a single request at a time to each. Clients name the proxies, so neither a proxy that
/// does not respond nor a user with many proxies may hold up other users' pushes.
struct ProxySchedule: Sendable {
    /// The maximum number of requests in flight to proxies whose last request did not time out.
    static let slotCount = 28
    /// The maximum number of requests in flight to proxies whose last request timed out: such a request holds its slot for as long as the
    /// timeout.
    static let timedOutSlotCount = 4
    /// The maximum number of requests in flight for a single user. A user's apps mostly share a proxy.
    static let userSlotCount = 2

    enum Outcome: Sendable {
        /// The proxy responded, and the pushes are recorded as finished.
        case responded(isMoreWaiting: Bool)
        /// The proxy could not be reached, responded with an error, or the store failed.
        case failed
        case timedOut
    }

    /// A proxy for which pushes wait.
    private struct Proxy: Sendable {
        enum State: Sendable, Equatable {
            case ready
            /// A request counts for a single user among those whose pushes wait.
            case inFlight(user: String, usesTimedOutSlot: Bool)
            /// The back-off after a failure.
            case resting
        }

        var state = State.ready
        /// The position among the proxies that are ready.
        var position: Int
        /// Users with waiting pushes, except those that the request in flight was started for.
        var users: Set<String> = []
        var hasCall = false
        /// Users and calls in the request in flight.
        var sending: (users: Set<String>, hasCall: Bool) = ([], false)
        var hasTimedOut = false
        /// The number of consecutive failures.
        var failureCount = 0
    }

    private var proxies: [String: Proxy] = [:]
    private var lastPosition = 0
    private var slotsInUse = 0
    private var timedOutSlotsInUse = 0
    private var slotsOfUsers: [String: Int] = [:]

    /// Notes that pushes wait.
    mutating func add(_ waiting: some Sequence<WaitingProxy>) {
        for waiting in waiting {
            let position = nextPosition()
            proxies[waiting.proxy, default: Proxy(position: position)].users.insert(waiting.user)
            if waiting.hasCall { proxies[waiting.proxy]?.hasCall = true }
        }
    }

    /// Begins a request to a proxy for which a call waits, or else to the proxy that has been ready for longest.
    ///
    /// - Returns: The proxy, or nil if no request may begin now.
    mutating func start() -> String? {
        guard slotsInUse < Self.slotCount || timedOutSlotsInUse < Self.timedOutSlotCount else { return nil }
        var best: (name: String, proxy: Proxy, user: String)?
        for (name, proxy) in proxies where proxy.state == .ready {
            guard proxy.hasTimedOut ? timedOutSlotsInUse < Self.timedOutSlotCount : slotsInUse < Self.slotCount else { continue }
            if let best, !Self.isBefore(proxy, best.proxy) { continue }
            // None of its users alone can hold up a proxy.
            guard let user = proxy.users.first(where: { slotsOfUsers[$0, default: 0] < Self.userSlotCount }) else { continue }
            best = (name, proxy, user)
        }
        guard let (name, ready, user) = best else { return nil }
        var proxy = ready
        proxy.state = .inFlight(user: user, usesTimedOutSlot: proxy.hasTimedOut)
        proxy.sending = (proxy.users, proxy.hasCall)
        (proxy.users, proxy.hasCall) = ([], false)
        if proxy.hasTimedOut { timedOutSlotsInUse += 1 } else { slotsInUse += 1 }
        slotsOfUsers[user, default: 0] += 1
        proxies[name] = proxy
        return name
    }

    /// Ends the request to a proxy.
    ///
    /// - Returns: The number of consecutive failures after which the proxy rests until ``endRest(of:)``, or nil if it does not rest.
    mutating func finish(_ name: String, _ outcome: Outcome) -> Int? {
        guard var proxy = proxies[name], case .inFlight(let user, let usesTimedOutSlot) = proxy.state else { return nil }
        if usesTimedOutSlot { timedOutSlotsInUse -= 1 } else { slotsInUse -= 1 }
        let slots = slotsOfUsers[user, default: 1] - 1
        slotsOfUsers[user] = slots > 0 ? slots : nil
        if case .timedOut = outcome { proxy.hasTimedOut = true } else { proxy.hasTimedOut = false }
        if case .responded(let isMoreWaiting) = outcome {
            proxy.failureCount = 0
            if !isMoreWaiting { proxy.sending = ([], false) }
        } else {
            proxy.failureCount += 1
        }
        proxy.users.formUnion(proxy.sending.users)
        proxy.hasCall = proxy.hasCall || proxy.sending.hasCall
        proxy.sending = ([], false)
        proxy.state = proxy.failureCount > 0 ? .resting : .ready
        proxy.position = nextPosition()
        proxies[name] = proxy.users.isEmpty ? nil : proxy
        return proxy.failureCount > 0 ? proxy.failureCount : nil
    }

    /// Ends a proxy's back-off.
    mutating func endRest(of name: String) {
        proxies[name]?.state = .ready
    }

    private static func isBefore(_ left: Proxy, _ right: Proxy) -> Bool {
        left.hasCall == right.hasCall ? left.position < right.position : left.hasCall
    }

    private mutating func nextPosition() -> Int {
        lastPosition += 1
        return lastPosition
    }
}
