import CoreMetrics
import StatusCrypto
import Synchronization
import Wire

/// Says each reply again, twice, in a fresh envelope.
///
/// Clients were seen to subscribe to their own topic up to 2.5 s after they asked (RELIABILITY.md, "What operators ask for"). The same
/// bytes would be dropped by the network's dedupe, so each echo is sealed anew. It is a courtesy: nothing of it survives a shutdown,
/// a failure to publish is not repeated, and what is long or does not fit the bound is not echoed. The reply stage says it, after all that
/// has not been said.
///
/// The answer to a registration is said again only while that is the newest of its key: reference clients never forget what they asked,
/// and would take the success of version 1 for that of version 2, which was refused or lost (PROTOCOL.md §7).
final class EchoStage: Sendable {
    private let clock: any Clock<Duration>
    private let metrics: EngineMetrics
    private let wheel = Mutex(EchoWheel<PendingReply>())
    private let newest = Mutex(NewestRegistrations())

    init(clock: any Clock<Duration>, metrics: EngineMetrics) {
        self.clock = clock
        self.metrics = metrics
    }

    /// A registration has been opened.
    ///
    /// - Parameter row: rises from message to message.
    func registrationArrived(from sender: PublicKey, row: Int64) {
        newest.withLock { $0.note(row, from: sender) }
    }

    /// The reply has just been published. A long one is not said again: who asks for it by a few bytes would get it three times.
    func add(_ reply: PendingReply) {
        guard reply.isShort else { return }
        let isTaken = wheel.withLock { $0.add(reply, byteCount: reply.payload.count) }
        if !isTaken { metrics.echoesDropped.increment() }
    }

    /// Runs until cancelled.
    ///
    /// - Parameter say: takes what is due.
    func run(_ say: (PendingReply) -> Void) async {
        while (try? await clock.sleep(for: EchoWheel<PendingReply>.tick)) != nil {
            newest.withLock { $0.advance() }
            for reply in wheel.withLock({ $0.advance() }) where isCurrent(reply) { say(reply) }
        }
    }

    /// Whether nothing newer is going to be said instead.
    func isCurrent(_ reply: PendingReply) -> Bool {
        guard reply.type == .pushNotificationRegistrationResponse else { return true }
        return newest.withLock { $0.isNewest(reply.id, from: reply.recipient) }
    }
}

/// Which registration of a key came last, for as long as answers are said again.
///
/// What is not known is not the newest: where memory ends, an echo is left out.
struct NewestRegistrations {
    /// Keys of each half: at a thousand registrations a second, as long as an echo may take. Some 120 bytes each.
    static let maximumCount = 8_192
    /// As long as the longest delay of an echo, and the time that its reply may take before.
    private static let halfTicks = 40

    private var current: [PublicKey: Int64] = [:]
    private var previous: [PublicKey: Int64] = [:]
    private var ticks = 0

    mutating func note(_ row: Int64, from key: PublicKey) {
        let newest = max(row, self.row(of: key) ?? row)
        if current.count >= Self.maximumCount { turn() }
        current[key] = newest
    }

    func isNewest(_ row: Int64, from key: PublicKey) -> Bool {
        self.row(of: key) == row
    }

    /// One tick of the wheel later.
    mutating func advance() {
        ticks += 1
        if ticks >= Self.halfTicks { turn() }
    }

    private func row(of key: PublicKey) -> Int64? { current[key] ?? previous[key] }

    private mutating func turn() {
        (previous, current, ticks) = (current, [:], 0)
    }
}

/// What is due at which tick: a ring of buckets, for the delays are always the same two.
struct EchoWheel<Element> {
    static var tick: Duration { .milliseconds(250) }
    /// 1.5 s and 4 s.
    static var delays: [Int] { [6, 16] }
    /// Room for some seconds of replies at full load; long ones are rare.
    static var maximumByteCount: Int { 32 << 20 }
    /// What an element costs beside its bytes.
    private static var overheadByteCount: Int { 256 }

    private var buckets: [[(element: Element, byteCount: Int)]] = Array(repeating: [], count: 17)
    private var now = 0
    private(set) var byteCount = 0

    /// - Returns: false when there is no room.
    mutating func add(_ element: Element, byteCount: Int) -> Bool {
        let byteCount = byteCount + Self.overheadByteCount
        guard self.byteCount + byteCount * Self.delays.count <= Self.maximumByteCount else { return false }
        for delay in Self.delays {
            buckets[(now + delay) % buckets.count].append((element, byteCount))
            self.byteCount += byteCount
        }
        return true
    }

    /// One tick later: what is due now.
    mutating func advance() -> [Element] {
        now = (now + 1) % buckets.count
        let due = buckets[now]
        buckets[now] = []
        for element in due { byteCount -= element.byteCount }
        return due.map(\.element)
    }
}
