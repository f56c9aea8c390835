package import PushProtocol

/// The order in which waiting pushes are attempted.
///
/// Fair queueing orders first attempts: each target gets a single push per round, so that a target with thousands of pushes doesn't delay
/// other targets. It works like a deficit round robin in which each push costs the same. Proven targets have separate rounds, and at least
/// half of the attempts while any of their pushes waits.
///
/// This value is in memory, and the store keeps each push's round. After a restart, the targets' last rounds are forgotten.
package struct OutboxFairQueue: Sendable {
    /// Rounds stay below this limit, and every stored time is above it, because the store keeps both in the same column: the round until
    /// the first attempt, and then the time of the next attempt.
    package static let roundLimit: Int64 = 1 << 50
    /// While first attempts wait, every fourth attempt is a retry. Otherwise retries would starve under lasting load.
    package static let retryStride = 4
    /// While pushes to proven targets wait, every second attempt goes to another target.
    package static let unprovenStride = 2
    /// While pushes to other targets wait, every fourth of their attempts goes to an unknown bundle id.
    package static let unknownBundleIDStride = 4

    fileprivate struct Queue: Hashable {
        var route: String
        var trust: PushTrust
    }

    private struct Rounds {
        /// The round whose pushes are attempted now. Rounds start at 1. A released push has round 0 and goes first.
        var current: Int64 = 1
        /// Each target's last round, by the target's hash. Entries from past rounds remain until the next clean-up.
        var last: [Int: Int64] = [:]
        /// How many entries `last` may have before the past rounds are removed.
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

    /// Returns the round for a push that enters a route's queue.
    package func round(for target: Installation, trust: PushTrust, in route: String, after assignment: inout Assignment) -> Int64 {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        let known = rounds[queue]
        let round = max(known?.current ?? 1, (assignment.last[queue]?[key] ?? known?.last[key] ?? 0) + 1)
        assignment.last[queue, default: [:]][key] = round
        return round
    }

    /// Records the round that a push keeps when it moves to the queue with its target's trust.
    package func record(_ round: Int64, of target: Installation, trust: PushTrust, in route: String, in assignment: inout Assignment) {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        assignment.last[queue, default: [:]][key] = max(round, assignment.last[queue]?[key] ?? rounds[queue]?.last[key] ?? 0)
    }

    /// Adopts the assigned rounds, because their transaction is durable.
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
    /// How many pushes a route has for a trust.
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

    /// Divides a route's next attempts among the pushes that are due.
    ///
    /// - Parameters:
    ///   - due: The number of pushes that are due, by trust. Counts may stop at `limit`.
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

    /// Divides attempts between two groups of pushes: while both have enough, every `length`th attempt goes to the second group.
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
