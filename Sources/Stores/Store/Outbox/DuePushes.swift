/// Pushes that are due, all with the same route and trust.
package struct DuePushes: Sendable {
    /// The pushes without attempts, ordered by round, which is `next`.
    package var first: [(next: Int64, id: Int64)]
    /// The pushes with a time instead of a round, ordered by that time: retries, postponed and deferred pushes.
    package var retries: [Int64]

    package init(first: [(next: Int64, id: Int64)], retries: [Int64]) {
        self.first = first
        self.retries = retries
    }
}

extension OutboxFairQueue {
    /// Chooses a route's next attempts, and reaches their rounds.
    ///
    /// - Parameters:
    ///   - limit: The maximum number of attempts.
    ///   - due: The pushes that are due, by trust. There needn't be more than `limit` per trust.
    /// - Returns: The pushes' rows, in the order in which to attempt them.
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
