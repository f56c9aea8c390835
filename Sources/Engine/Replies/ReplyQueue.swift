import Concurrency
import Envelope
import PushProtocol

/// Decides which reply is published next: a value, told what came of it.
///
/// Newest first, across all who asked: clients wait 3 s for an answer (PROTOCOL.md §8), so under load the youngest replies are those that
/// still help somebody. What finds no room leaves as the oldest, and stays a row. Echoes come after all replies, and after the messages
/// that have gathered undecided, and are the only thing that is ever dropped.
///
/// No reply waits inside its turn: one that failed goes back, and while the network takes nothing, one at a time tries whether it does.
struct ReplyQueue: Sendable {
    struct Limits: Sendable {
        /// Replies in memory, those that are being published included.
        var count: Int
        /// Their payloads: a few thousand ordinary replies take a megabyte, some hundred answers with full lists as much as this.
        var byteCount: Int
        /// Bytes a second to the network, echoes included.
        var bytesPerSecond: Int
    }

    /// What is to be published now.
    struct Turn: Sendable {
        var reply: PendingReply
        var isEcho = false
        /// What is left of it from an earlier turn, sealed: to the network the same bytes are the same message. Empty: to be sealed.
        var envelopes: [WakuEnvelope] = []
        fileprivate var failureCount = 0
    }

    enum Failure: Equatable {
        /// It concerns every other reply as well.
        case network
        /// It concerns this one.
        case own
    }

    /// Echoes that wait for their turn; at two thousand a second, as long as a client listens for one.
    static let maximumEchoCount = 4_096
    /// After a failure, for the network or for the reply: half a second is a hiccup, and nobody waits for longer than half a minute once a
    /// node is back.
    static let backOff = BackOff(first: .milliseconds(500), longest: .seconds(30), minimumShare: 1)

    private let limits: Limits
    private var waiting: [Int64: Turn] = [:]
    /// Rows of `waiting` that may be taken, oldest first, apart by size: a long reply must not use up what short ones need.
    private var short: [Int64] = []
    private var long: [Int64] = []
    /// Rows of `waiting` that failed, and until when they rest.
    private var resting: [Int64: (end: Duration, failure: Failure)] = [:]
    private var echoes: [PendingReply] = []
    private var waitingByteCount = 0
    /// Their payloads.
    private var underWay: [Int64: Int] = [:]
    /// Rows of `underWay` that are not to be tried again.
    private var dropped: Set<Int64> = []
    private var echoesUnderWayCount = 0
    /// Replies that are out while that is not written yet.
    private var unmarkedCount = 0
    private var budget: ByteBudget
    /// In a row, of the network.
    private var failureCount = 0
    private var probeTime: Duration?
    private var isDraining = false
    private var holdsEchoes = false

    init(limits: Limits) {
        self.limits = limits
        budget = ByteBudget(bytesPerSecond: limits.bytesPerSecond)
    }

    /// Whether the last publication failed for a reason that concerns every reply.
    var isHeldUp: Bool { failureCount > 0 }
    /// Replies in memory, until it is written that they are out.
    var count: Int { waiting.count + underWay.count + unmarkedCount }
    /// In memory and not out.
    var byteCount: Int { waitingByteCount + underWay.values.reduce(0, +) }
    /// Nothing is under way and nothing waits.
    var isIdle: Bool { count == 0 && echoes.isEmpty && echoesUnderWayCount == 0 }
    /// How many rows that wait may be read: none as long as half of the room is full, nor while those in memory cannot be published.
    var roomForRows: Int {
        guard !isDraining, !isHeldUp || waiting.isEmpty, waiting.count * 2 <= limits.count, waitingByteCount * 2 <= limits.byteCount else {
            return 0
        }
        return max(0, limits.count - waiting.count - underWay.count)
    }

    // MARK: In

    /// - Returns: the oldest, for which there is no room any more.
    mutating func add(_ replies: [PendingReply]) -> [PendingReply] {
        for reply in replies { enter(Turn(reply: reply)) }
        return isDraining && isHeldUp ? giveUp() : evict()
    }

    /// - Returns: how many echoes, the oldest, were dropped for want of room.
    mutating func addEcho(_ reply: PendingReply) -> Int {
        guard !isDraining else { return 1 }
        echoes.append(reply)
        guard echoes.count > Self.maximumEchoCount else { return 0 }
        echoes.removeFirst(Self.maximumEchoCount / 4)
        return Self.maximumEchoCount / 4
    }

    /// Echoes wait, though nothing else does.
    mutating func holdEchoes(_ areHeld: Bool) { holdsEchoes = areHeld }

    /// Drops replies that are not to be published any more. One that is being published is not tried again.
    mutating func drop(_ ids: [Int64]) {
        for id in ids where remove(id) == nil && underWay[id] != nil { dropped.insert(id) }
    }

    // MARK: Turns

    /// - Returns: nil when it is nobody's turn.
    mutating func next(at now: Duration) -> Turn? {
        // Asked by everybody who is free, after each change.
        guard !waiting.isEmpty || !echoes.isEmpty else { return nil }
        budget.refill(at: now)
        wake(at: now)
        guard probeTime.map({ $0 <= now && underWay.isEmpty && echoesUnderWayCount == 0 }) ?? true, underWay.count < limits.count else {
            return nil
        }
        let candidates = [budget.suffices(for: .short) ? short.last : nil, budget.suffices(for: .long) ? long.last : nil]
        if let id = candidates.compactMap(\.self).max() {
            guard let turn = remove(id) else { return nil }
            underWay[id] = turn.reply.payload.count
            budget.spend(turn.reply)
            return turn
        }
        guard !isHeldUp, !holdsEchoes, let echo = echoes.last, budget.suffices(for: .echo) else { return nil }
        echoes.removeLast()
        echoesUnderWayCount += 1
        budget.spend(echo)
        return Turn(reply: echo, isEcho: true)
    }

    /// When it may be somebody's turn without anything else happening; nil: never.
    var nextTime: Duration? {
        guard !waiting.isEmpty || !echoes.isEmpty else { return nil }
        let rest = resting.values.map(\.end).min()
        // What the budget suffices for is taken by whoever is free, unless all that it has to wait for is the time to try the network.
        let ready = [
            short.isEmpty ? nil : budget.time(for: .short) ?? probeTime, long.isEmpty ? nil : budget.time(for: .long) ?? probeTime,
        ]
        let echo = isHeldUp || holdsEchoes || echoes.isEmpty ? nil : budget.time(for: .echo)
        return (ready + [rest, echo]).compactMap(\.self).min().map { max($0, probeTime ?? $0) }
    }

    mutating func published(_ turn: Turn) {
        if leave(turn) {
            unmarkedCount += 1
            dropped.remove(turn.reply.id)
        }
        (failureCount, probeTime) = (0, nil)
        for (id, rest) in resting where rest.failure == .network {
            resting[id] = nil
            makeReady(id)
        }
    }

    /// - Parameter turn: with what is left of its envelopes, if they are still good.
    /// - Returns: replies that go back to their rows.
    mutating func failed(_ turn: Turn, _ failure: Failure, at now: Duration) -> [PendingReply] {
        // Those that were under way at the same time failed for the same reason.
        if failure == .network, probeTime.map({ $0 <= now }) ?? true {
            failureCount += 1
            probeTime = now + Self.backOff.bound(afterFailures: failureCount)
        }
        guard leave(turn), dropped.remove(turn.reply.id) == nil else { return [] }
        var turn = turn
        turn.failureCount += 1
        guard !isDraining else { return [turn.reply] + (isHeldUp ? giveUp() : []) }
        enter(turn, restingUntil: (now + Self.backOff.bound(afterFailures: turn.failureCount), failure))
        return evict()
    }

    /// It is written that so many replies are out.
    mutating func marked(_ count: Int) { unmarkedCount -= count }

    /// From now on nothing waits for the network to take replies again.
    ///
    /// - Returns: replies that go back to their rows.
    mutating func drain() -> [PendingReply] {
        isDraining = true
        echoes = []
        return isHeldUp ? giveUp() : takeResting()
    }

    private mutating func giveUp() -> [PendingReply] {
        let replies = waiting.values.map(\.reply)
        for reply in replies { remove(reply.id) }
        return replies
    }

    private mutating func takeResting() -> [PendingReply] {
        resting.keys.compactMap { remove($0)?.reply }
    }

    // MARK: Rows in memory

    private mutating func enter(_ turn: Turn, restingUntil rest: (end: Duration, failure: Failure)? = nil) {
        let id = turn.reply.id
        guard waiting[id] == nil, underWay[id] == nil else { return }
        waiting[id] = turn
        waitingByteCount += turn.reply.payload.count
        if let rest { resting[id] = rest } else { makeReady(id) }
    }

    private mutating func makeReady(_ id: Int64) {
        guard let turn = waiting[id] else { return }
        if turn.reply.isShort { short.insertSorted(id) } else { long.insertSorted(id) }
    }

    @discardableResult
    private mutating func remove(_ id: Int64) -> Turn? {
        guard let turn = waiting.removeValue(forKey: id) else { return nil }
        waitingByteCount -= turn.reply.payload.count
        if resting.removeValue(forKey: id) == nil {
            if turn.reply.isShort { short.removeSorted(id) } else { long.removeSorted(id) }
        }
        return turn
    }

    /// - Returns: false for an echo.
    private mutating func leave(_ turn: Turn) -> Bool {
        if turn.isEcho { echoesUnderWayCount -= 1 } else { underWay[turn.reply.id] = nil }
        return !turn.isEcho
    }

    private mutating func wake(at now: Duration) {
        for (id, rest) in resting where rest.end <= now {
            resting[id] = nil
            makeReady(id)
        }
    }

    private mutating func evict() -> [PendingReply] {
        var evicted: [PendingReply] = []
        // One stays, however long it is.
        while waiting.count + underWay.count > limits.count || byteCount > limits.byteCount && waiting.count + underWay.count > 1,
            let oldest = oldestWaiting
        {
            if let turn = remove(oldest) { evicted.append(turn.reply) }
        }
        return evicted
    }

    private var oldestWaiting: Int64? { [short.first, long.first, resting.keys.min()].compactMap(\.self).min() }
}

/// Bytes that may still go out: a bucket that fills evenly.
///
/// What is short needs any credit at all, what is long leaves a quarter of the bucket to it, and echoes leave half: so a stranger who asks
/// for long answers takes nothing from those who ask for short ones.
private struct ByteBudget: Sendable {
    enum Priority {
        case short
        case long
        case echo
    }

    /// What a reply costs beside its payload: signatures, keys and JSON.
    private static let overheadByteCount = 512.0

    private let bytesPerSecond: Double
    private var credit: Double
    private var time = Duration.zero

    init(bytesPerSecond: Int) {
        self.bytesPerSecond = Double(bytesPerSecond)
        credit = Double(bytesPerSecond)
    }

    mutating func refill(at now: Duration) {
        credit = min(bytesPerSecond, credit + (now - time) / .seconds(1) * bytesPerSecond)
        time = now
    }

    /// One second's worth is the bucket; what is taken last may overdraw it.
    mutating func spend(_ reply: PendingReply) { credit -= Double(reply.payload.count) + Self.overheadByteCount }

    func suffices(for priority: Priority) -> Bool { credit > floor(of: priority) }

    /// When that will be so; nil if it is.
    func time(for priority: Priority) -> Duration? {
        // A byte more than the floor, or the bucket would have to be asked again at once.
        suffices(for: priority) ? nil : time + .seconds((floor(of: priority) + 1 - credit) / bytesPerSecond)
    }

    private func floor(of priority: Priority) -> Double {
        switch priority {
        case .short: 0
        case .long: bytesPerSecond / 4
        case .echo: bytesPerSecond / 2
        }
    }
}

extension PendingReply {
    var isShort: Bool { payload.count <= Limits.maximumShortReplyByteCount }
}

extension [Int64] {
    fileprivate mutating func insertSorted(_ element: Int64) {
        insert(element, at: firstIndex(notBelow: element))
    }

    fileprivate mutating func removeSorted(_ element: Int64) {
        let index = firstIndex(notBelow: element)
        if index < endIndex, self[index] == element { remove(at: index) }
    }

    private func firstIndex(notBelow element: Int64) -> Int {
        // Nearly always the newest.
        if last.map({ $0 < element }) ?? true { return endIndex }
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
