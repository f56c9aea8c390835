import PushProtocol

/// Whose turn it is among the pushes of a route that were never tried: each target has one push a turn, so that one for whom thousands
/// wait holds up nobody else's single one. It is fair queueing with start times, and the order is that of a deficit round robin in which
/// each push costs the same.
///
/// In memory: pushes keep their turns in the database, and what a restart forgets is who had which turn last.
struct OutboxTurns: Sendable {
    /// What was never tried has a turn in the place of the time of its next attempt: no time that is stored is so near to 1970.
    static let end: Int64 = 1 << 50
    /// One in so many pushes that go out may be a repeated attempt though others wait: those would never come to an end of it under
    /// lasting load, and new ones are worth more.
    static let retryShare = 4

    private struct Route {
        /// The turn that is going out. The first is 1: what was given back goes before all, with 0.
        var current: Int64 = 1
        /// The last turn of each target, by a hash of it, as far as it is still to come.
        var last: [Int: Int64] = [:]
        /// When those that are over are forgotten.
        var maximumCount = 10_000
        var retryCredit = 0
    }

    private var routes: [String: Route] = [:]

    /// Turns that a transaction gives to pushes: they count once it is durable.
    struct Given: Sendable {
        fileprivate var last: [String: [Int: Int64]] = [:]
    }

    /// A push is put into the queue.
    func next(for target: Installation, in name: String, after given: inout Given) -> Int64 {
        let key = target.hashValue
        let route = routes[name]
        let turn = max(route?.current ?? 1, (given.last[name]?[key] ?? route?.last[key] ?? 0) + 1)
        given.last[name, default: [:]][key] = turn
        return turn
    }

    mutating func keep(_ given: Given) {
        for (name, last) in given.last {
            var route = routes.removeValue(forKey: name) ?? Route()
            route.last.merge(last) { $1 }
            if route.last.count > route.maximumCount {
                route.last = route.last.filter { $0.value >= route.current }
                route.maximumCount = max(10_000, 2 * route.last.count)
            }
            routes[name] = route
        }
    }

    /// Pushes up to that turn go out, or are the first that wait.
    mutating func reach(_ turn: Int64, in name: String) {
        routes[name, default: Route()].current = max(turn, routes[name]?.current ?? 1)
    }

    /// Targets whose turns are remembered.
    func count(in name: String) -> Int { routes[name]?.last.count ?? 0 }

    /// How many of the next pushes that go out may be repeated attempts, though new ones wait.
    mutating func retries(among limit: Int, in name: String) -> Int {
        let credit = min(routes[name]?.retryCredit ?? 0, Self.retryShare) + limit
        routes[name, default: Route()].retryCredit = credit % Self.retryShare
        return credit / Self.retryShare
    }
}
