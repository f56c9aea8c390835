import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import Tasks
import Wire

/// The reply queue, which decides what to publish next. It does not perform I/O: events go in, the next ``Publication`` comes out.
///
/// The newest reply is first, across all senders. Clients wait 3 s (PROTOCOL.md §8), so under load only the newest replies arrive in time.
/// A reply is in one of these states:
///
/// - **stored:** a row that is not in memory, because the capacity was used up or the server restarted, until its row is read.
/// - **waiting:** in memory, until a worker takes it, or until it is evicted, the oldest first, when the capacity is used up.
/// - **resting:** backs off after a failure, in memory, until the delay is over or the network works again.
/// - **in flight:** until it is published, or its publication fails.
///
/// A failed reply returns to the queue, so no worker waits for it. While the network rejects all replies, a single reply probes it. Echoes
/// come after all replies. When the capacity is used up, the queue drops only echoes (``EchoQueue``).
///
/// While no node has peers, replies are held like after any other failure of the network, and what the last seconds published comes back
/// (``takeBack(_:)``). ``fate(of:at:)`` decides what a reply that was held is still good for.
struct ReplyQueue: Sendable {
    struct Limits: Sendable {
        /// The maximum number of replies in memory, including replies in flight.
        var count: Int
        /// How large their payloads may be together. A single longer reply is kept.
        var byteCount: Int
        /// The maximum bytes per second to the network, including echoes.
        var bytesPerSecond: Int
    }

    /// A reply to be published now.
    struct Publication: Sendable {
        var reply: PendingReply
        var isEcho = false
        /// The sealed envelopes that an earlier attempt did not publish, or empty if none exist. A retry publishes the same bytes, so that
        /// the network deduplicates them.
        var envelopes: [WakuEnvelope] = []
        /// Whether the reply was published before, by a node that had no peers. Its row is already marked.
        fileprivate(set) var isTakenBack = false
        fileprivate var failureCount = 0
        /// The monotonic time at which the reply entered the queue.
        fileprivate var enteredAt = Duration.zero
    }

    /// What becomes of a reply that may be published.
    enum Fate {
        case publish
        /// Too late: a client repeats a registration after 30 s, and gets its success as a retransmission. A late success for version n
        /// would hide that version n + 1 never arrived (PROTOCOL.md §7).
        case drop
        /// The response to the query is outdated.
        case decideAgain
    }

    enum Failure: Equatable {
        /// The failure concerns every other reply as well.
        case network
        /// The failure concerns this reply only.
        case own
    }

    /// The delay after the network or a reply has failed. It starts at 0.5 s, which covers a short fault, and ends at 30 s, so that replies
    /// resume soon after a node returns.
    static let backOff = BackOff(first: .milliseconds(500), longest: .seconds(30), minimumShare: 1)

    /// How long after its request a reply that was held is published unchanged.
    static let maximumHoldTime = Duration.seconds(25)
    /// How many recipients' newest replies are known: more than any node accepts in the seconds after which it may give replies back.
    static let maximumNotedCount = 16_384

    private let limits: Limits
    /// Rows of replies that are not in memory.
    private(set) var stored = IndexSet()
    /// Waiting and resting replies, by row.
    private var waiting: [Int64: Publication] = [:]
    /// The rows of waiting short replies, oldest first. Long replies have their own list, so that they leave credits to short replies.
    private var short: [Int64] = []
    /// The rows of waiting long replies, oldest first.
    private var long: [Int64] = []
    /// Resting replies, by row, with the end of their back-off and the failure.
    private var resting: [Int64: (end: Duration, failure: Failure)] = [:]
    /// Replies in flight, by row. A superseded reply is not retried. A reply is lost if a node without peers accepted one of its segments.
    private var inFlight: [Int64: (byteCount: Int, isSuperseded: Bool, isLost: Bool)] = [:]
    private var echoesInFlightCount = 0
    private var waitingByteCount = 0
    private var budget: ByteBudget
    /// The queue of echoes, or nil if replies are not echoed.
    private var echoes: EchoQueue?
    /// The number of consecutive network failures.
    private var failureCount = 0
    /// The monotonic time at which the network is probed next, or nil while it works.
    private var probeTime: Duration?
    /// The newest reply to a registration, by recipient, for some of the last recipients.
    private var newestRegistrations: [FixedBytes<33>: Int64] = [:]
    /// When replies were last held because no node had peers, by the monotonic and the wall clock, or nil if they never were.
    private var lastHold: (time: Duration, wallTime: Timestamp)?
    private var isDraining = false

    init(limits: Limits, echoesReplies: Bool = true) {
        self.limits = limits
        budget = ByteBudget(bytesPerSecond: limits.bytesPerSecond)
        echoes = echoesReplies ? EchoQueue() : nil
    }

    /// Whether the last publication failed for a reason that concerns every reply.
    var isBlocked: Bool { failureCount > 0 }
    /// The number of replies in memory.
    var count: Int { waiting.count + inFlight.count }
    /// The payload bytes in memory.
    var byteCount: Int { waitingByteCount + inFlight.values.reduce(0) { $0 + $1.byteCount } }
    /// Whether no reply is in memory and no echo is due or in flight.
    var isIdle: Bool { count == 0 && echoesInFlightCount == 0 && echoes?.isEmpty != false }
    /// The number of replies that are not in memory.
    var storedCount: Int { stored.count }
    /// Whether the queue is idle and no stored reply waits.
    var isEmpty: Bool { isIdle && stored.isEmpty }
    /// The number of replies that may be read from the store. 0 unless half the capacity is free, and while the replies in memory cannot be
    /// published.
    var freeRowCapacity: Int {
        guard !isDraining, !isBlocked || waiting.isEmpty, waiting.count * 2 <= limits.count, waitingByteCount * 2 <= limits.byteCount else {
            return 0
        }
        return max(0, limits.count - count)
    }

    // MARK: In

    /// Adds replies, and evicts the oldest beyond the capacity.
    ///
    /// - Returns: The rows of evicted replies that are not stored. Their messages have to be decided again.
    mutating func add(_ replies: [PendingReply]) -> [Int64] {
        for reply in replies { enter(Publication(reply: reply)) }
        return isDraining && isBlocked ? giveUp() : evict()
    }

    /// Adds rows whose replies wait to be read.
    mutating func store(_ rows: [Int64]) {
        for row in rows where row.isRowNumber { stored.insert(Int(row)) }
    }

    /// Returns the newest stored rows, which are to be read next, or nil if none are stored or ``freeRowCapacity`` is 0.
    func nextRows(maximumCount: Int) -> [Int64]? {
        let rows = stored.suffix(min(maximumCount, freeRowCapacity)).map { Int64($0) }
        return rows.isEmpty ? nil : rows
    }

    /// Adds the replies of rows that have been read, except those superseded meanwhile.
    ///
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func add(_ replies: [PendingReply], of rows: [Int64]) -> [Int64] {
        let left = Set(rows.filter { stored.remove(Int($0)) != nil })
        return add(replies.filter { left.contains($0.id) })
    }

    /// Drops replies that newer replies supersede. A superseded reply in flight is not retried.
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

    /// Advances the queue's time: refills the budget, ends back-offs and makes echoes due. An earlier time is ignored.
    mutating func advance(to now: Duration) {
        budget.refill(at: now)
        for (id, rest) in resting where rest.end <= budget.time {
            resting[id] = nil
            makeReady(id)
        }
        echoes?.advance(to: budget.time)
    }

    /// Removes the next publication from the queue.
    ///
    /// - Returns: nil if no publication may start now.
    mutating func next() -> Publication? {
        // Every free worker calls this after each change, so the empty queue is the fast path.
        guard !waiting.isEmpty || echoes?.isReady == true else { return nil }
        guard probeTime.map({ $0 <= budget.time && inFlight.isEmpty && echoesInFlightCount == 0 }) ?? true, inFlight.count < limits.count
        else { return nil }
        let candidates = [budget.suffices(for: .short) ? short.last : nil, budget.suffices(for: .long) ? long.last : nil]
        if let id = candidates.compactMap(\.self).max() {
            guard let publication = remove(id) else { return nil }
            inFlight[id] = (publication.reply.byteCount, false, false)
            budget.spend(publication.reply)
            return publication
        }
        guard !isBlocked, budget.suffices(for: .echo), let echo = echoes?.take() else { return nil }
        echoesInFlightCount += 1
        budget.spend(echo)
        return Publication(reply: echo, isEcho: true)
    }

    /// The earliest monotonic time at which ``next()`` may return a publication without another event, or nil if none exists.
    var nextTime: Duration? {
        let rest = resting.values.map(\.end).min()
        // A free worker takes a reply as soon as the budget suffices, unless the queue waits for the time to probe the network.
        let ready = [
            short.isEmpty ? nil : budget.time(for: .short) ?? probeTime, long.isEmpty ? nil : budget.time(for: .long) ?? probeTime,
        ]
        let echo = isBlocked || echoes?.isReady != true ? nil : budget.time(for: .echo)
        let next = (ready + [rest, echo]).compactMap(\.self).min().map { max($0, probeTime ?? $0) }
        return [next, echoes?.nextTime].compactMap(\.self).min()
    }

    /// Ends a publication that a node accepted. The network works, so the replies that rest because of it wait again.
    mutating func published(_ publication: Publication) {
        if publication.isEcho {
            echoesInFlightCount -= 1
        } else {
            let isLost = inFlight.removeValue(forKey: publication.reply.id)?.isLost == true
            if isLost, !isDraining {
                returnToQueue(publication.reply)
            } else if !isDraining {
                echoes?.add(publication.reply, at: budget.time)
            }
        }
        networkReturned()
    }

    /// Ends the back-off, because the network works: the replies that rest because of it wait again.
    mutating func networkReturned() {
        (failureCount, probeTime) = (0, nil)
        for (id, rest) in resting where rest.failure == .network {
            resting[id] = nil
            makeReady(id)
        }
    }

    /// Takes back a reply that was published in vain, because the node that accepted it had no peers. It is published again in fresh
    /// envelopes, unless a newer reply to a registration may have followed it.
    ///
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func takeBack(_ reply: PendingReply) -> [Int64] {
        guard !isDraining, !reply.isToRegistration || newestRegistrations[reply.recipient.compressed] == reply.id else { return [] }
        if inFlight[reply.id] != nil {
            inFlight[reply.id]?.isLost = true
        } else if waiting[reply.id] != nil {
            waiting[reply.id]?.envelopes = []  // segments that were accepted are missing from it
        } else {
            returnToQueue(reply)
        }
        return evict()
    }

    private mutating func returnToQueue(_ reply: PendingReply) {
        var publication = Publication(reply: reply)
        publication.isTakenBack = true
        enter(publication)
    }

    /// Notes that replies are held because no node has peers.
    mutating func hold(at wallTime: Timestamp) { lastHold = (budget.time, wallTime) }

    /// Whether a reply was held, so that its time says nothing about this server.
    func wasHeld(_ publication: Publication, at now: Timestamp) -> Bool {
        publication.isTakenBack || lastHold?.wallTime.ifPast(at: now).map { publication.reply.receivedAt <= $0 } ?? false
    }

    /// Decides what a reply that was held is still good for. Responses to push requests always are.
    func fate(of publication: Publication, at now: Timestamp) -> Fate {
        let reply = publication.reply
        guard wasHeld(publication, at: now), reply.receivedAt.duration(to: now) > Self.maximumHoldTime else { return .publish }
        if reply.isToRegistration { return .drop }
        // The network's probe is published as it is, or all queries would be decided again for each probe.
        guard reply.completion == .decision, !publication.isTakenBack, !isBlocked, let lastHold, publication.enteredAt <= lastHold.time
        else { return .publish }
        return .decideAgain
    }

    /// Ends a publication that no node got, because another server has superseded the reply, or because of its ``Fate``.
    mutating func abandoned(_ publication: Publication) { inFlight[publication.reply.id] = nil }

    /// Ends a publication that failed. The reply rests until its back-off ends.
    ///
    /// - Parameter publication: The publication with the envelopes that the retry may publish.
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func failed(_ publication: Publication, _ failure: Failure) -> [Int64] {
        let now = budget.time
        // Only the first failure after a probe time counts: publications that were in flight at the same time failed for the same reason.
        if failure == .network, probeTime.map({ $0 <= now }) ?? true {
            failureCount += 1
            probeTime = now + Self.backOff.bound(afterFailures: failureCount)
        }
        guard !publication.isEcho else {
            echoesInFlightCount -= 1
            return []
        }
        guard let flight = inFlight.removeValue(forKey: publication.reply.id), !flight.isSuperseded else { return [] }
        guard !isDraining else { return release([publication]) + (isBlocked ? giveUp() : []) }
        var publication = publication
        if flight.isLost { publication.envelopes = [] }  // segments that were accepted are missing from it
        publication.failureCount += 1
        enter(publication, restingUntil: (now + Self.backOff.bound(afterFailures: publication.failureCount), failure))
        return evict()
    }

    /// Begins the shutdown. Resting replies immediately become rows, as do all replies while the network fails. Echoes are dropped.
    ///
    /// - Returns: The rows to be decided again, as ``add(_:)-([PendingReply])`` does.
    mutating func drain() -> [Int64] {
        isDraining = true
        echoes?.removeAll()
        return isBlocked ? giveUp() : release(resting.keys.compactMap { remove($0) })
    }

    private mutating func giveUp() -> [Int64] {
        release(waiting.keys.compactMap { remove($0) })
    }

    // MARK: Rows in memory

    private mutating func enter(_ publication: Publication, restingUntil rest: (end: Duration, failure: Failure)? = nil) {
        let id = publication.reply.id
        guard waiting[id] == nil, inFlight[id] == nil else { return }
        var publication = publication
        if publication.failureCount == 0 { publication.enteredAt = budget.time }
        if publication.reply.isToRegistration { noteRegistration(publication.reply) }
        waiting[id] = publication
        waitingByteCount += publication.reply.byteCount
        if let rest { resting[id] = rest } else { makeReady(id) }
    }

    private mutating func noteRegistration(_ reply: PendingReply) {
        if newestRegistrations.count > Self.maximumNotedCount { newestRegistrations = [:] }
        let newest = newestRegistrations[reply.recipient.compressed] ?? reply.id
        newestRegistrations[reply.recipient.compressed] = max(newest, reply.id)
    }

    private mutating func makeReady(_ id: Int64) {
        guard let publication = waiting[id] else { return }
        if publication.reply.isShort { short.insertSorted(id) } else { long.insertSorted(id) }
    }

    @discardableResult
    private mutating func remove(_ id: Int64) -> Publication? {
        guard let publication = waiting.removeValue(forKey: id) else { return nil }
        waitingByteCount -= publication.reply.byteCount
        if resting.removeValue(forKey: id) == nil {
            if publication.reply.isShort { short.removeSorted(id) } else { long.removeSorted(id) }
        }
        return publication
    }

    private mutating func evict() -> [Int64] {
        var evicted: [Publication] = []
        // A single reply stays, however large.
        while count > limits.count || byteCount > limits.byteCount && count > 1, let oldest = oldestWaiting {
            if let publication = remove(oldest) { evicted.append(publication) }
        }
        return release(evicted)
    }

    private var oldestWaiting: Int64? { [short.first, long.first, resting.keys.min()].compactMap(\.self).min() }

    /// Adds replies that are no longer in memory to the stored rows, unless they are not stored. A reply that was taken back is dropped,
    /// because its row is marked.
    ///
    /// - Returns: The rows of replies that are not stored. Their messages have to be decided again.
    private mutating func release(_ publications: [Publication]) -> [Int64] {
        let replies = publications.filter { !$0.isTakenBack }.map(\.reply)
        store(replies.filter { $0.completion != .decision }.map(\.id))
        return replies.filter { $0.completion == .decision }.flatMap { [$0.id] + $0.segments }
    }
}

extension PendingReply {
    /// Whether the reply is short enough to be published first and to have echoes.
    var isShort: Bool { byteCount <= ProtocolLimits.maximumShortReplyByteCount }
    var isToRegistration: Bool { type == .pushNotificationRegistrationResponse }
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
        // The new element is nearly always the greatest.
        if last.map({ $0 < element }) ?? true { return endIndex }
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if self[middle] < element { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
