import Concurrency
import Envelope
import Foundation
import PushProtocol

/// Decides which reply is published next. It performs no I/O: events go in, the next ``Publication`` comes out.
///
/// The newest reply is first, across all senders: clients wait 3 s (PROTOCOL.md §8), so under load the youngest replies are those that still
/// help somebody. A reply is in one of these states:
///
/// | state | leaves it |
/// |---|---|
/// | stored: a row that is not in memory, because it found no capacity or a restart left it | when it is read |
/// | waiting: in memory | when it is published next, or as the oldest when capacity runs out |
/// | resting: in memory, after a failure | when its back-off ends, or the network works again |
/// | in flight | published, or failed |
///
/// Workers never wait on a failed reply: it returns to the queue. While the network rejects all of them, a single reply probes it. Echoes
/// come after all replies, and are all that is ever dropped (``EchoQueue``).
struct ReplyQueue: Sendable {
    struct Limits: Sendable {
        /// Replies in memory, including those in flight.
        var count: Int
        /// Their payloads: a few thousand ordinary replies take a megabyte, some hundred responses with full lists as much as this.
        var byteCount: Int
        /// Bytes a second to the network, including echoes.
        var bytesPerSecond: Int
    }

    /// A reply to be published now.
    struct Publication: Sendable {
        var reply: PendingReply
        var isEcho = false
        /// The sealed envelopes that an earlier attempt left: to the network the same bytes are the same message. Empty if it left none.
        var envelopes: [WakuEnvelope] = []
        fileprivate var failureCount = 0
    }

    enum Failure: Equatable {
        /// The failure concerns every other reply as well.
        case network
        /// The failure concerns this reply only.
        case own
    }

    /// The delay after a failure, of the network or of a reply: half a second is a hiccup, and no client waits for longer than half a
    /// minute once a node is back.
    static let backOff = BackOff(first: .milliseconds(500), longest: .seconds(30), minimumShare: 1)

    private let limits: Limits
    /// Rows of replies that are not in memory.
    private(set) var stored = IndexSet()
    /// Waiting and resting replies, by row.
    private var waiting: [Int64: Publication] = [:]
    /// Rows of waiting replies, oldest first, apart by size: a long reply must not use up what short ones need.
    private var short: [Int64] = []
    private var long: [Int64] = []
    /// Rows of resting replies, with the end of their back-off.
    private var resting: [Int64: (end: Duration, failure: Failure)] = [:]
    /// Replies in flight. A superseded one is not retried.
    private var inFlight: [Int64: (byteCount: Int, isSuperseded: Bool)] = [:]
    private var echoesInFlightCount = 0
    private var waitingByteCount = 0
    private var budget: ByteBudget
    /// The queue of echoes; nil if the engine publishes none.
    private var echoes: EchoQueue?
    /// The number of consecutive failures of the network.
    private var failureCount = 0
    private var probeTime: Duration?
    private var isDraining = false

    init(limits: Limits, echoesReplies: Bool = true) {
        self.limits = limits
        budget = ByteBudget(bytesPerSecond: limits.bytesPerSecond)
        echoes = echoesReplies ? EchoQueue() : nil
    }

    /// Whether the last publication failed for a reason that concerns every reply.
    var isBlocked: Bool { failureCount > 0 }
    /// Replies in memory.
    var count: Int { waiting.count + inFlight.count }
    /// Bytes of their payloads.
    var byteCount: Int { waitingByteCount + inFlight.values.reduce(0) { $0 + $1.byteCount } }
    /// Whether there is nothing to publish in memory. Echoes that are not due yet do not count.
    var isIdle: Bool { count == 0 && echoesInFlightCount == 0 && echoes?.isEmpty != false }
    /// Replies that are not in memory.
    var storedCount: Int { stored.count }
    /// Whether there is nothing to publish, in memory or in the store.
    var isEmpty: Bool { isIdle && stored.isEmpty }
    /// How many replies may be read from the store; 0 unless half of the capacity is free, and while those in memory cannot be published.
    var freeRowCapacity: Int {
        guard !isDraining, !isBlocked || waiting.isEmpty, waiting.count * 2 <= limits.count, waitingByteCount * 2 <= limits.byteCount else {
            return 0
        }
        return max(0, limits.count - count)
    }

    // MARK: In

    /// - Returns: The rows that found no capacity and whose messages have to be decided again, because their replies are not stored.
    mutating func add(_ replies: [PendingReply]) -> [Int64] {
        for reply in replies { enter(Publication(reply: reply)) }
        return isDraining && isBlocked ? giveUp() : evict()
    }

    /// Adds rows whose replies wait to be read.
    mutating func store(_ rows: [Int64]) {
        for row in rows { stored.insert(Int(row)) }
    }

    /// The stored rows to read next, the newest; nil while there are none, or no capacity.
    func nextRows(maximumCount: Int) -> [Int64]? {
        let rows = stored.suffix(min(maximumCount, freeRowCapacity)).map { Int64($0) }
        return rows.isEmpty ? nil : rows
    }

    /// Adds replies that were read, except those superseded meanwhile.
    mutating func add(_ replies: [PendingReply], of rows: [Int64]) -> [Int64] {
        let left = Set(rows.filter { stored.remove(Int($0)) != nil })
        return add(replies.filter { left.contains($0.id) })
    }

    /// Drops replies that a newer one supersedes. One in flight is not retried.
    mutating func supersede(_ rows: [Int64]) {
        for row in rows {
            stored.remove(Int(row))
            if remove(row) == nil { inFlight[row]?.isSuperseded = true }
        }
    }

    mutating func pauseEchoes(_ isPaused: Bool) { echoes?.isPaused = isPaused }

    /// - Returns: The number of echoes dropped since the last call.
    mutating func takeDroppedEchoCount() -> Int { echoes?.takeDroppedCount() ?? 0 }

    // MARK: Publications

    /// Lets time pass, which ends rests and brings echoes. Earlier times than the latest one change nothing.
    mutating func advance(to now: Duration) {
        budget.refill(at: now)
        for (id, rest) in resting where rest.end <= budget.time {
            resting[id] = nil
            makeReady(id)
        }
        echoes?.advance(to: budget.time)
    }

    /// - Returns: The publication to make now; nil if there is none.
    mutating func next() -> Publication? {
        // Asked by every free worker, after each change.
        guard !waiting.isEmpty || echoes?.isReady == true else { return nil }
        guard probeTime.map({ $0 <= budget.time && inFlight.isEmpty && echoesInFlightCount == 0 }) ?? true, inFlight.count < limits.count
        else { return nil }
        let candidates = [budget.suffices(for: .short) ? short.last : nil, budget.suffices(for: .long) ? long.last : nil]
        if let id = candidates.compactMap(\.self).max() {
            guard let publication = remove(id) else { return nil }
            inFlight[id] = (publication.reply.payload.count, false)
            budget.spend(publication.reply)
            return publication
        }
        guard !isBlocked, budget.suffices(for: .echo), let echo = echoes?.take() else { return nil }
        echoesInFlightCount += 1
        budget.spend(echo)
        return Publication(reply: echo, isEcho: true)
    }

    /// When there may be a publication without another event; nil if never.
    var nextTime: Duration? {
        let rest = resting.values.map(\.end).min()
        // A free worker takes what the budget suffices for, unless it has to wait for the time to probe the network.
        let ready = [
            short.isEmpty ? nil : budget.time(for: .short) ?? probeTime, long.isEmpty ? nil : budget.time(for: .long) ?? probeTime,
        ]
        let echo = isBlocked || echoes?.isReady != true ? nil : budget.time(for: .echo)
        let next = (ready + [rest, echo]).compactMap(\.self).min().map { max($0, probeTime ?? $0) }
        return [next, echoes?.nextTime].compactMap(\.self).min()
    }

    mutating func published(_ publication: Publication) {
        if publication.isEcho {
            echoesInFlightCount -= 1
        } else {
            inFlight[publication.reply.id] = nil
            if !isDraining { echoes?.add(publication.reply, at: budget.time) }
        }
        (failureCount, probeTime) = (0, nil)
        for (id, rest) in resting where rest.failure == .network {
            resting[id] = nil
            makeReady(id)
        }
    }

    /// - Parameter publication: With the rest of its envelopes, if they are still valid.
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func failed(_ publication: Publication, _ failure: Failure) -> [Int64] {
        let now = budget.time
        // Publications in flight at the same time failed for the same reason.
        if failure == .network, probeTime.map({ $0 <= now }) ?? true {
            failureCount += 1
            probeTime = now + Self.backOff.bound(afterFailures: failureCount)
        }
        guard !publication.isEcho else {
            echoesInFlightCount -= 1
            return []
        }
        guard inFlight.removeValue(forKey: publication.reply.id)?.isSuperseded == false else { return [] }
        guard !isDraining else { return release([publication.reply]) + (isBlocked ? giveUp() : []) }
        var publication = publication
        publication.failureCount += 1
        enter(publication, restingUntil: (now + Self.backOff.bound(afterFailures: publication.failureCount), failure))
        return evict()
    }

    /// From now on no reply waits for the network to work again.
    ///
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func drain() -> [Int64] {
        isDraining = true
        echoes?.removeAll()
        return isBlocked ? giveUp() : release(resting.keys.compactMap { remove($0)?.reply })
    }

    private mutating func giveUp() -> [Int64] {
        release(waiting.keys.compactMap { remove($0)?.reply })
    }

    // MARK: Rows in memory

    private mutating func enter(_ publication: Publication, restingUntil rest: (end: Duration, failure: Failure)? = nil) {
        let id = publication.reply.id
        guard waiting[id] == nil, inFlight[id] == nil else { return }
        waiting[id] = publication
        waitingByteCount += publication.reply.payload.count
        if let rest { resting[id] = rest } else { makeReady(id) }
    }

    private mutating func makeReady(_ id: Int64) {
        guard let publication = waiting[id] else { return }
        if publication.reply.isShort { short.insertSorted(id) } else { long.insertSorted(id) }
    }

    @discardableResult
    private mutating func remove(_ id: Int64) -> Publication? {
        guard let publication = waiting.removeValue(forKey: id) else { return nil }
        waitingByteCount -= publication.reply.payload.count
        if resting.removeValue(forKey: id) == nil {
            if publication.reply.isShort { short.removeSorted(id) } else { long.removeSorted(id) }
        }
        return publication
    }

    private mutating func evict() -> [Int64] {
        var evicted: [PendingReply] = []
        // One stays, however long it is.
        while count > limits.count || byteCount > limits.byteCount && count > 1, let oldest = oldestWaiting {
            if let publication = remove(oldest) { evicted.append(publication.reply) }
        }
        return release(evicted)
    }

    private var oldestWaiting: Int64? { [short.first, long.first, resting.keys.min()].compactMap(\.self).min() }

    /// Lets go of replies that are no longer in memory.
    ///
    /// - Returns: The rows whose replies are not stored.
    private mutating func release(_ replies: [PendingReply]) -> [Int64] {
        store(replies.filter { $0.completion != .decision }.map(\.id))
        return replies.filter { $0.completion == .decision }.flatMap { [$0.id] + $0.segments }
    }
}

extension PendingReply {
    var isShort: Bool { payload.count <= ProtocolLimits.maximumShortReplyByteCount }
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
