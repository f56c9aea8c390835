import Envelope
import Tasks
import WakuREST

/// Selects the node that publishes the next message. The nodes alternate. Nodes with an issue, and nodes that pause because their last POST
/// failed, are selected only if no other node is left. A node without peers is never selected: it would respond with 200 at once, and drop
/// the message (WAKU_REST.md §1.2).
struct PublishNodeSelector {
    /// A node's pause after a failed POST. When the pause ends, the next messages show whether the node works again.
    static let backOff = BackOff(first: .seconds(1), longest: .seconds(30), minimumShare: 1)
    /// The shortest time without a response after which another node gets the message as well. A client waits 3 s for a reply
    /// (WAKU_REST.md §3), and a healthy node responds within milliseconds.
    static let minimumSilence = Duration.seconds(1)
    /// A node that usually takes longer is silent after this many times its usual time.
    static let silenceFactor = 4

    enum Outcome: Equatable {
        case accepted(NodeKind, after: Duration)
        case failed
        /// The node has sent as many messages as RLN permits in this epoch. It pauses like a node that failed, because no response tells
        /// whether an epoch lasts a second or ten minutes.
        case quotaExhausted
        /// The task was cancelled, for example because another node accepted the message first.
        case cancelled
        /// The message was not posted.
        case unused
    }

    private struct Node {
        /// The maximum number of POSTs in flight. While the node's kind is unknown, it is 1.
        var limit: Int
        var inFlightCount = 0
        /// The number of consecutive failures.
        var failureCount = 0
        var pauseEnd: Timestamp?
        var isQuotaExhausted = false
        /// Whether a POST had no response in time, and none has succeeded since.
        var isSilent = false
        /// How long the node takes to accept a message, as a moving average.
        var usualTime = Duration.zero
        /// Whether the node has peers, by its last health check. A node that reports no health counts as connected.
        var isConnected = true
        var accepted = AcceptedMessages()

        var hasCapacity: Bool { inFlightCount < (isSilent ? 1 : limit) }
    }

    private let limit: Int?
    private var nodes: [Node]
    private var next = 0

    /// - Parameters:
    ///   - count: The number of nodes. All methods identify a node by its index.
    ///   - limit: The maximum number of POSTs in flight at each node. Nil means as many as its kind handles.
    init(count: Int, limit: Int?) {
        self.limit = limit
        nodes = Array(repeating: Node(limit: limit ?? 1), count: count)
    }

    /// Takes a slot at a node for a POST.
    ///
    /// - Parameters:
    ///   - excluded: The nodes that must not get this message, because they had it already.
    ///   - troubled: The nodes with an issue, which hardly accept a message.
    /// - Returns: A node to be passed to `release`, or nil while all slots of the preferred nodes are taken.
    mutating func acquire(besides excluded: Set<Int>, troubled: Set<Int>, at now: Timestamp) -> Int? {
        let candidates = nodes.indices.map { (next + $0) % nodes.count }.filter { !excluded.contains($0) && nodes[$0].isConnected }
        let working = candidates.filter { node in
            !troubled.contains(node) && nodes[node].pauseEnd?.isOver(at: now, length: Self.backOff.longest) ?? true
        }
        guard let node = (working.isEmpty ? candidates : working).first(where: { nodes[$0].hasCapacity }) else { return nil }
        nodes[node].inFlightCount += 1
        next = (node + 1) % nodes.count
        return node
    }

    /// Whether a node with peers is left.
    ///
    /// - Parameter excluded: The nodes that must not get this message, because they had it already.
    func hasNode(besides excluded: Set<Int>) -> Bool {
        nodes.indices.contains { !excluded.contains($0) && nodes[$0].isConnected }
    }

    mutating func release(_ node: Int, after outcome: Outcome, at now: Timestamp) {
        nodes[node].inFlightCount -= 1
        switch outcome {
        case .accepted(let kind, let time):
            nodes[node].limit = limit ?? kind.maximumPostsInFlight
            nodes[node].failureCount = 0
            nodes[node].pauseEnd = nil
            nodes[node].isQuotaExhausted = false
            nodes[node].isSilent = false
            nodes[node].usualTime = nodes[node].usualTime == .zero ? time : (nodes[node].usualTime * 7 + time) / 8
        case .failed, .quotaExhausted:
            nodes[node].isQuotaExhausted = outcome == .quotaExhausted
            pause(node, at: now)
        case .cancelled:
            if nodes[node].isSilent { pause(node, at: now) }
        case .unused: break
        }
    }

    private mutating func pause(_ node: Int, at now: Timestamp) {
        nodes[node].failureCount += 1
        nodes[node].pauseEnd = now.advanced(by: Self.backOff.bound(afterFailures: nodes[node].failureCount))
    }

    /// The time without a response after which another node gets the message as well.
    func silence(of node: Int) -> Duration { max(Self.minimumSilence, nodes[node].usualTime * Self.silenceFactor) }

    /// Records that a POST had no response in time: until the node accepts a message, it gets its POSTs singly.
    mutating func recordSilence(of node: Int) { nodes[node].isSilent = true }

    /// Whether the node failed too often in a row for a short disturbance. A node without quota works.
    func isBroken(_ node: Int) -> Bool {
        nodes[node].failureCount >= PublishAttempts.maximumCount && !nodes[node].isQuotaExhausted
    }

    func isConnected(_ node: Int) -> Bool { nodes[node].isConnected }

    /// Remembers a message that a node accepted, unless it is nil.
    ///
    /// - Returns: False if the node has no peers by now, so that the message is lost.
    mutating func keep(_ message: AcceptedMessages.Entry?, acceptedBy node: Int, at now: Duration) -> Bool {
        guard nodes[node].isConnected else { return false }
        if let message { nodes[node].accepted.add(message, at: now) }
        return true
    }

    /// Records the result of a node's health check.
    ///
    /// - Returns: The messages that are lost, because the node accepted them when it may already have had no peers.
    mutating func setConnected(_ isConnected: Bool, _ node: Int, at now: Duration) -> [AcceptedMessages.Entry] {
        nodes[node].isConnected = isConnected
        return isConnected ? [] : nodes[node].accepted.take(at: now)
    }

    /// The nodes whose quota is used up.
    var withoutQuota: [Int] { nodes.indices.filter { nodes[$0].isQuotaExhausted } }
}
