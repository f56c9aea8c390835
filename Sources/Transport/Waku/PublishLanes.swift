import Concurrency
import Envelope
import WakuREST

/// Decides which node is asked next to take a message: a value, told what came of it. Nodes take turns; one that is in trouble, or
/// failed lately, is asked only when no other is left.
struct PublishLanes {
    /// What a node is spared after it failed. One message at a time finds out whether it works again, and goes through another if not.
    static let backOff = BackOff(first: .seconds(1), longest: .seconds(30), minimumShare: 1)

    /// What came of a node's turn.
    enum Outcome: Equatable {
        case taken(NodeKind)
        case failed
        /// The node has sent as many messages as RLN lets it in this epoch, and is spared like one that failed: nobody tells how long an
        /// epoch lasts, one second or ten minutes.
        case quotaUsedUp
        /// The node was not asked after all.
        case unused
    }

    private struct Lane {
        /// How many POSTs may be under way: of a node that has not said yet what it is, as many as any takes.
        var limit: Int
        var underWayCount = 0
        /// In a row.
        var failureCount = 0
        var restEnd: Timestamp?
        var isQuotaUsedUp = false
    }

    private let limit: Int?
    private var lanes: [Lane]
    private var next = 0

    /// - Parameters:
    ///   - count: of nodes, which are named by their place from here on.
    ///   - limit: how many POSTs to have under way at each; nil: as many as the kind of node takes.
    init(count: Int, limit: Int?) {
        self.limit = limit
        lanes = Array(repeating: Lane(limit: limit ?? 1), count: count)
    }

    /// - Parameters:
    ///   - tried: nodes that did not take this message.
    ///   - troubled: nodes that give nothing, and so will hardly take anything.
    /// - Returns: a node that is to be left again; nil as long as those that should be asked have no room.
    mutating func enter(besides tried: Set<Int>, troubled: Set<Int>, at now: Timestamp) -> Int? {
        let turn = lanes.indices.map { (next + $0) % lanes.count }.filter { !tried.contains($0) }
        let working = turn.filter { !troubled.contains($0) && lanes[$0].restEnd ?? now <= now }
        guard let lane = (working.isEmpty ? turn : working).first(where: { lanes[$0].underWayCount < lanes[$0].limit }) else { return nil }
        lanes[lane].underWayCount += 1
        next = (lane + 1) % lanes.count
        return lane
    }

    mutating func leave(_ lane: Int, after outcome: Outcome, at now: Timestamp) {
        lanes[lane].underWayCount -= 1
        switch outcome {
        case .taken(let kind):
            (lanes[lane].failureCount, lanes[lane].restEnd) = (0, nil)
            lanes[lane].limit = limit ?? kind.concurrentPostCount
            lanes[lane].isQuotaUsedUp = false
        case .failed, .quotaUsedUp:
            lanes[lane].isQuotaUsedUp = outcome == .quotaUsedUp
            lanes[lane].failureCount += 1
            lanes[lane].restEnd = now.advanced(by: Self.backOff.bound(afterFailures: lanes[lane].failureCount))
        case .unused: break
        }
    }

    /// Whether the node failed so often in a row that it is no hiccup. One without quota works.
    func isBroken(_ lane: Int) -> Bool {
        lanes[lane].failureCount >= PublishAttempts.maximumCount && !lanes[lane].isQuotaUsedUp
    }

    /// The nodes that have no quota left, as far as is known.
    var withoutQuota: [Int] { lanes.indices.filter { lanes[$0].isQuotaUsedUp } }
}
