/// Pushes of one route and trust that are due.
package struct DuePushes: Sendable {
    /// The pushes without attempts, in the order of their rounds. `next` is the round.
    package var first: [(next: Int64, id: Int64)]
    /// The pushes with a time instead of a round: retries, postponed and deferred pushes, in the order of that time.
    package var retries: [Int64]

    package init(first: [(next: Int64, id: Int64)], retries: [Int64]) {
        self.first = first
        self.retries = retries
    }
}

extension OutboxFairQueue {
    /// Chooses the next attempts of a route, and reaches their rounds.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of attempts.
    ///   - due: The pushes that are due, by trust. More than `limit` of each are not needed.
    /// - Returns: The rows of the pushes, in the order of attempts.
    package mutating func choose(_ limit: Int, among due: [PushTrust: DuePushes], in route: String) -> [Int64] {
        let counts = divide(limit, among: due.mapValues { Counts(first: $0.first.count, retries: $0.retries.count) }, in: route)
        return PushTrust.allCases.flatMap { trust -> [Int64] in
            guard let pushes = due[trust], let count = counts[trust] else { return [] }
            let first = pushes.first.prefix(count.first)
            if let round = first.last?.next { reach(round, trust: trust, in: route) }
            return first.map(\.id) + pushes.retries.prefix(count.retries)
        }
    }
}
