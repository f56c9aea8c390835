import DequeModule
import Wire

/// Replies that are published again, twice, in fresh envelopes.
///
/// Some clients subscribe to their own topic up to 2.5 s after their request (RELIABILITY.md, "Operators' requirements"). The network would
/// drop the same bytes, so each echo is sealed in a new envelope. Echoes are best effort: a restart forgets them, a failed echo is not
/// retried, and echoes beyond the queue's bounds are dropped.
///
/// Replies to registrations are not echoed, because a reference client takes any success for the success of its newest version (PROTOCOL.md
/// §7). Long replies are not echoed, because a request of a few bytes would make the server publish them three times.
struct EchoQueue: Sendable {
    /// The times of both echoes after the reply.
    static let delays: [Duration] = [.milliseconds(1_500), .seconds(4)]
    /// Limits the echoes that are due. At 2,000 a second they take 2 s, and clients don't listen longer.
    static let maximumDueCount = 4_096
    /// For echoes that are not due: a few seconds of replies at full load.
    static let maximumByteCount = 32 << 20
    /// How large an echo in memory is without its payload, as estimated.
    private static let overheadByteCount = 256

    private struct Echo: Sendable {
        var reply: PendingReply
        var publishedAt: Duration
        var byteCount: Int { reply.byteCount + EchoQueue.overheadByteCount }
    }

    /// Whether echoes wait although they are due. Sealing an echo takes as much CPU time as the reply did, so echoes wait under load.
    var isPaused = false
    /// The echoes that are not due, a queue for each delay, in the order in which they fall due.
    private var delayed: [Deque<Echo>] = Array(repeating: [], count: delays.count)
    private var due: [PendingReply] = []
    private var delayedByteCount = 0
    private var droppedCount = 0

    /// Whether no echo is due.
    var isEmpty: Bool { due.isEmpty }
    /// Whether ``take()`` returns an echo.
    var isReady: Bool { !due.isEmpty && !isPaused }
    /// The monotonic time at which the next echo falls due, or nil if none exists.
    var nextTime: Duration? { zip(delayed, Self.delays).compactMap { queue, delay in queue.first.map { $0.publishedAt + delay } }.min() }

    /// Adds both echoes for a reply that has just been published.
    mutating func add(_ reply: PendingReply, at now: Duration) {
        guard reply.type != .pushNotificationRegistrationResponse, reply.isShort else { return }
        let echo = Echo(reply: reply, publishedAt: now)
        guard delayedByteCount + echo.byteCount <= Self.maximumByteCount else { return droppedCount += Self.delays.count }
        delayed[0].append(echo)
        delayedByteCount += echo.byteCount
    }

    /// Moves the echoes whose delay has passed to those that are due.
    mutating func advance(to now: Duration) {
        for (index, delay) in Self.delays.enumerated() {
            while let echo = delayed[index].first, echo.publishedAt + delay <= now {
                delayed[index].removeFirst()
                if index + 1 < delayed.count { delayed[index + 1].append(echo) } else { delayedByteCount -= echo.byteCount }
                due.append(echo.reply)
            }
        }
        guard due.count > Self.maximumDueCount else { return }
        // The oldest quarter is dropped together, because each removal moves the rest.
        let excess = due.count - Self.maximumDueCount * 3 / 4
        due.removeFirst(excess)
        droppedCount += excess
    }

    /// Removes and returns the newest echo that is due, or nil if none is due or echoes are paused.
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
