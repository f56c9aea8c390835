package import PushProtocol

/// The order of the pushes that wait for a route.
///
/// Fair queueing orders first attempts: each target gets one push per round, so that a target with thousands of pushes delays no other.
/// The order is that of a deficit round robin in which each push costs the same. Proven targets have rounds of their
/// own, and at least half of the attempts while any of their pushes waits.
///
/// This value is in memory, and the store keeps the round of each push. A restart forgets the last round of each target.
package struct OutboxFairQueue: Sendable {
    /// The upper bound of rounds. The store keeps the round of a push without attempts in the column for the time of the next attempt.
    /// Every stored time is greater than this limit.
    package static let roundLimit: Int64 = 1 << 50
    /// While first attempts wait, one attempt in four is a retry: otherwise retries would starve under lasting load.
    package static let retryStride = 4
    /// While pushes to proven targets wait, one attempt in two goes to another target.
    package static let unprovenStride = 2
    /// While pushes to other targets wait, one attempt in four of those goes to an unknown bundle id.
    package static let unknownBundleIDStride = 4

    fileprivate struct Queue: Hashable {
        var route: String
        var trust: PushTrust
    }

    private struct Rounds {
        /// The round whose pushes are attempted now. The first one is 1; a released push has 0 and goes first.
        var current: Int64 = 1
        /// The last round of each target, by the hash of the target. Entries of past rounds remain until the next clean-up.
        var last: [Int: Int64] = [:]
        /// The number of entries in `last` at which those of past rounds are removed.
        var maximumCount = 10_000
    }

    private var rounds: [Queue: Rounds] = [:]
    private var strides: [String: Strides] = [:]

    package init() {}

    /// The rounds that a transaction assigns to pushes. The fair queue ignores them until the transaction is durable.
    package struct Assignment: Sendable {
        fileprivate var last: [Queue: [Int: Int64]] = [:]

        package init() {}
    }

    /// Returns the round of a push that enters the queue of a route.
    package func round(for target: Installation, trust: PushTrust, in route: String, after assignment: inout Assignment) -> Int64 {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        let known = rounds[queue]
        let round = max(known?.current ?? 1, (assignment.last[queue]?[key] ?? known?.last[key] ?? 0) + 1)
        assignment.last[queue, default: [:]][key] = round
        return round
    }

    /// Records the round of a push that has moved to the queue with its target's trust.
    package func record(_ round: Int64, of target: Installation, trust: PushTrust, in route: String, in assignment: inout Assignment) {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        assignment.last[queue, default: [:]][key] = max(round, assignment.last[queue]?[key] ?? rounds[queue]?.last[key] ?? 0)
    }

    /// Adopts the rounds of an assignment whose transaction is durable.
    package mutating func commit(_ assignment: Assignment) {
        for (queue, last) in assignment.last {
            var known = rounds.removeValue(forKey: queue) ?? Rounds()
            known.last.merge(last) { $1 }
            if known.last.count > known.maximumCount {
                known.last = known.last.filter { $0.value >= known.current }
                known.maximumCount = max(10_000, 2 * known.last.count)
            }
            rounds[queue] = known
        }
    }

    /// Returns the round whose pushes are attempted now.
    package func currentRound(trust: PushTrust, in route: String) -> Int64 {
        rounds[Queue(route: route, trust: trust)]?.current ?? 1
    }

    /// Raises the current round, because pushes of that round are attempted now or are the first that wait.
    package mutating func reach(_ round: Int64, trust: PushTrust, in route: String) {
        let queue = Queue(route: route, trust: trust)
        rounds[queue, default: Rounds()].current = max(round, rounds[queue]?.current ?? 1)
    }

    /// The number of targets whose rounds are in memory.
    package func targetCount(trust: PushTrust, in route: String) -> Int { rounds[Queue(route: route, trust: trust)]?.last.count ?? 0 }
}

extension OutboxFairQueue {
    /// A number of pushes of one route and trust.
    package struct Counts: Sendable, Equatable {
        package var first: Int
        package var retries: Int

        package init(first: Int = 0, retries: Int = 0) {
            self.first = first
            self.retries = retries
        }

        fileprivate var total: Int { first + retries }
    }

    private struct Strides {
        var unproven = Stride(OutboxFairQueue.unprovenStride)
        var unknownBundleIDs = Stride(OutboxFairQueue.unknownBundleIDStride)
        var retries: [PushTrust: Stride] = [:]
    }

    /// Divides the next attempts of a route among the pushes that are due.
    ///
    /// - Parameters:
    ///   - due: The number of pushes that are due, by trust. More than `limit` of each need not be counted.
    ///   - limit: The number of attempts.
    /// - Returns: The number of attempts, by trust. Their sum is `limit` if enough pushes are due.
    package mutating func divide(_ limit: Int, among due: [PushTrust: Counts], in route: String) -> [PushTrust: Counts] {
        var strides = strides[route] ?? Strides()
        defer { self.strides[route] = strides }
        func total(_ trust: PushTrust) -> Int { due[trust, default: Counts()].total }
        let (proven, others) = strides.unproven.divide(limit, total(.proven), total(.unproven) + total(.unknownBundleID))
        let (unproven, unknown) = strides.unknownBundleIDs.divide(others, total(.unproven), total(.unknownBundleID))
        var divided: [PushTrust: Counts] = [:]
        for (trust, count) in [(PushTrust.proven, proven), (.unproven, unproven), (.unknownBundleID, unknown)] where count > 0 {
            let waiting = due[trust, default: Counts()]
            let parts = strides.retries[trust, default: Stride(Self.retryStride)].divide(count, waiting.first, waiting.retries)
            divided[trust] = Counts(first: parts.first, retries: parts.second)
        }
        return divided
    }

    /// Divides attempts between two groups of pushes: while both have enough, the second group gets one attempt in `length`.
    private struct Stride {
        let length: Int
        private var credit = 0

        init(_ length: Int) {
            self.length = length
        }

        mutating func divide(_ limit: Int, _ first: Int, _ second: Int) -> (first: Int, second: Int) {
            credit = min(credit, length) + limit
            let share = credit / length
            credit %= length
            let secondCount = min(second, max(share, limit - first), limit)
            return (min(first, limit - secondCount), secondCount)
        }
    }
}
