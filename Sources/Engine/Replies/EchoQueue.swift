import DequeModule
import Wire

/// Replies that are published again, twice, in fresh envelopes.
///
/// Clients were seen to subscribe to their own topic up to 2.5 s after they asked (RELIABILITY.md, "Operators' requirements"). The network
/// would drop the same bytes, so each echo is sealed anew. Echoes are a courtesy: no restart remembers them, a failed one is not retried,
/// and what exceeds the bounds is not echoed.
///
/// Replies to registrations have no echo: a reference client takes any success for its newest version (PROTOCOL.md §7). Nor have long
/// replies: a few bytes would buy them three times.
struct EchoQueue: Sendable {
    /// The times of both echoes after the reply.
    static let delays: [Duration] = [.milliseconds(1_500), .seconds(4)]
    /// The capacity for echoes that are due: at two thousand a second, as long as a client listens for one.
    static let maximumDueCount = 4_096
    /// The capacity for echoes that are not due: some seconds of replies at full load.
    static let maximumByteCount = 32 << 20
    /// The estimated bytes of an echo in memory beside its payload.
    private static let overheadByteCount = 256

    private struct Echo: Sendable {
        var reply: PendingReply
        var publishedAt: Duration
        var byteCount: Int { reply.payload.count + EchoQueue.overheadByteCount }
    }

    /// Whether echoes wait although they are due: to seal one takes a core as long as to answer a client that has no reply yet.
    var isPaused = false
    /// By delay; each in the order of publication, which is the order in which they fall due.
    private var delayed: [Deque<Echo>] = Array(repeating: [], count: delays.count)
    private var due: [PendingReply] = []
    private var delayedByteCount = 0
    private var droppedCount = 0

    /// Whether an echo waits to be published now.
    var isEmpty: Bool { due.isEmpty }
    /// Whether an echo may be taken.
    var isReady: Bool { !due.isEmpty && !isPaused }
    /// When the next echo falls due; nil if none is left.
    var nextTime: Duration? { zip(delayed, Self.delays).compactMap { queue, delay in queue.first.map { $0.publishedAt + delay } }.min() }

    /// Adds both echoes of a reply that was published just now.
    mutating func add(_ reply: PendingReply, at now: Duration) {
        guard reply.type != .pushNotificationRegistrationResponse, reply.isShort else { return }
        let echo = Echo(reply: reply, publishedAt: now)
        guard delayedByteCount + echo.byteCount <= Self.maximumByteCount else { return droppedCount += Self.delays.count }
        delayed[0].append(echo)
        delayedByteCount += echo.byteCount
    }

    mutating func advance(to now: Duration) {
        for (index, delay) in Self.delays.enumerated() {
            while let echo = delayed[index].first, echo.publishedAt + delay <= now {
                delayed[index].removeFirst()
                if index + 1 < delayed.count { delayed[index + 1].append(echo) } else { delayedByteCount -= echo.byteCount }
                due.append(echo.reply)
            }
        }
        guard due.count > Self.maximumDueCount else { return }
        // The oldest, some at once, because each removal moves the rest.
        let excess = due.count - Self.maximumDueCount * 3 / 4
        due.removeFirst(excess)
        droppedCount += excess
    }

    /// Takes the newest echo that is due.
    mutating func take() -> PendingReply? { isPaused ? nil : due.popLast() }

    mutating func removeAll() {
        delayed = delayed.map { _ in [] }
        due = []
        delayedByteCount = 0
    }

    /// - Returns: The number of echoes dropped since the last call.
    mutating func takeDroppedCount() -> Int {
        defer { droppedCount = 0 }
        return droppedCount
    }
}
