package import Envelope
package import PushProtocol

/// The order in which waiting pushes are read, and how far.
///
/// Fair queueing orders first attempts: each target gets a single push per round, so that a target with thousands of pushes doesn't delay
/// other targets. It works like a deficit round robin in which each push costs the same. Each trust has separate rounds.
///
/// Each push is read once. A new push enters a round after those that were read. If one enters an earlier round all the same, because its
/// transaction began before, the queue is read again from there. This value is in memory, and the store keeps each push's round. After a
/// restart, the targets' last rounds are forgotten.
package struct OutboxFairQueue: Sendable {
    /// A place in a queue, behind a push.
    package struct Position: Sendable, Comparable {
        package var next: NextAttempt
        package var id: Int64

        /// Before all pushes.
        package static let start = Position(next: NextAttempt(rawValue: -1), id: 0)

        package init(next: NextAttempt, id: Int64) {
            self.next = next
            self.id = id
        }

        package static func < (left: Position, right: Position) -> Bool { (left.next, left.id) < (right.next, right.id) }
    }

    /// How far a queue was read.
    package struct Progress: Sendable, Equatable {
        package var rounds = Position.start
        package var times = Position(next: .firstTime, id: 0)

        package init() {}

        package subscript(part: Part) -> Position {
            get { part == .rounds ? rounds : times }
            set { if part == .rounds { rounds = newValue } else { times = newValue } }
        }

        fileprivate mutating func goBack(to other: Progress) {
            rounds = min(rounds, other.rounds)
            times = min(times, other.times)
        }
    }

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
        /// How far the queue was read.
        var progress = Progress()
        /// The earliest places at which pushes have arrived since the last read began.
        var arrivals = Progress.end
    }

    private var rounds: [Queue: Rounds] = [:]

    package init() {}

    /// The rounds that a transaction assigns to pushes. The fair queue ignores them until the transaction is durable.
    package struct Assignment: Sendable {
        fileprivate var last: [Queue: [Int: Int64]] = [:]
        /// The earliest places of pushes.
        fileprivate var arrivals: [Queue: Progress] = [:]

        package init() {}

        fileprivate mutating func add(round: Int64, to queue: Queue) {
            let known = arrivals[queue, default: .end].rounds
            arrivals[queue, default: .end].rounds = min(known, Position(next: .round(round), id: 0))
        }

        /// Records the time of a push that waits for it.
        package mutating func add(time: Timestamp, trust: PushTrust, in route: String) {
            let queue = Queue(route: route, trust: trust)
            let known = arrivals[queue, default: .end].times
            arrivals[queue, default: .end].times = min(known, Position(next: .time(time), id: 0))
        }
    }

    /// Returns the round for a push that enters a route's queue.
    package func round(for target: Installation, trust: PushTrust, in route: String, after assignment: inout Assignment) -> Int64 {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        let known = rounds[queue]
        let round = max(known?.current ?? 1, (assignment.last[queue]?[key] ?? known?.last[key] ?? 0) + 1)
        assignment.last[queue, default: [:]][key] = round
        assignment.add(round: round, to: queue)
        return round
    }

    /// Records the round that a push keeps when it moves to the queue with its target's trust.
    package func record(_ round: Int64, of target: Installation, trust: PushTrust, in route: String, in assignment: inout Assignment) {
        let queue = Queue(route: route, trust: trust)
        let key = target.hashValue
        assignment.add(round: round, to: queue)
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
        for (queue, arrivals) in assignment.arrivals {
            rounds[queue, default: Rounds()].progress.goBack(to: arrivals)
            rounds[queue, default: Rounds()].arrivals.goBack(to: arrivals)
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

extension OutboxFairQueue.Progress {
    fileprivate static let end = {
        var end = Self()
        end.rounds = .init(next: .held, id: .max)
        end.times = end.rounds
        return end
    }()
}

extension OutboxFairQueue {
    /// A part of a queue.
    package enum Part: Sendable, CaseIterable {
        case rounds, times

        /// Where the part ends at a time.
        package func end(at now: Timestamp) -> NextAttempt { self == .rounds ? .lastRound : .time(now) }
    }

    /// Begins to read a queue.
    ///
    /// - Returns: How far it was read before.
    package mutating func beginReading(trust: PushTrust, in route: String) -> Progress {
        let queue = Queue(route: route, trust: trust)
        rounds[queue, default: Rounds()].arrivals = .end
        return rounds[queue, default: Rounds()].progress
    }

    /// Records that a queue was read up to there. What has arrived meanwhile is read the next time.
    package mutating func endReading(at progress: Progress, trust: PushTrust, in route: String) {
        let queue = Queue(route: route, trust: trust)
        var known = rounds.removeValue(forKey: queue) ?? Rounds()
        if known.progress.rounds < progress.rounds { known.current = max(known.current, progress.rounds.next.rawValue + 1) }
        known.progress = progress
        known.progress.goBack(to: known.arrivals)
        rounds[queue] = known
    }

    /// Reads a route's queues from their starts the next time.
    package mutating func reread(_ route: String) {
        for queue in rounds.keys where queue.route == route {
            rounds[queue]?.progress = Progress()
            rounds[queue]?.arrivals = Progress()
        }
    }

    /// Reads all queues from their starts the next time, because they have pushes of another server now.
    package mutating func rereadAll() { for route in Set(rounds.keys.map(\.route)) { reread(route) } }
}
