import Store

/// The attempts that have ended and whose outcomes the database does not have yet. A crash repeats them.
///
/// Times are monotonic and count from the delivery's start.
struct UnrecordedOutcomes: Sendable {
    /// Outcomes are recorded together in this time.
    static let delay = Duration.milliseconds(25)
    /// So many are recorded at once, without that delay.
    static let batchCount = 128
    /// While so many are not recorded, no attempt starts. As many as one transaction records may gather during it: beside a busy writer
    /// it takes longer than gorush does for as many.
    static let maximumCount = 2 * batchCount
    /// While so many wait for rows that another session of the database holds, no attempt starts.
    static let maximumLockedCount = 1_000

    private(set) var waiting: [PushAttempt] = []
    private(set) var recording: [PushAttempt] = []
    /// Decided changes of rows that another session holds.
    private(set) var locked: [Int64: OutboxUpdate.Push] = [:]
    /// When the waiting ones are recorded; nil if there are none.
    private(set) var due: Duration?
    private var lockedDue: Duration?
    /// Whether the newest write failed.
    private(set) var hasFailed = false

    var isEmpty: Bool { waiting.isEmpty && recording.isEmpty && locked.isEmpty }

    /// Whether no attempt may start.
    var areTooMany: Bool {
        hasFailed || waiting.count + recording.count >= Self.maximumCount || locked.count >= Self.maximumLockedCount
    }

    mutating func add(_ attempt: PushAttempt, at now: Duration) {
        waiting.append(attempt)
        due = waiting.count >= Self.batchCount ? now : min(due ?? now + Self.delay, now + Self.delay)
    }

    /// Records the waiting ones at once: somebody waits for an outcome.
    mutating func hasten(at now: Duration) { if !waiting.isEmpty { due = now } }

    /// When something is to be recorded, or nil if nothing is.
    var nextTime: Duration? { [due, lockedDue].compactMap(\.self).min() }

    /// Takes what is to be recorded. One transaction records at a time, so that the outcomes of a device are recorded in their order.
    ///
    /// - Returns: The attempts, and the changes whose rows another session held. These are tried each
    ///   ``Schedule/storeRetryInterval``, and left out in between.
    mutating func take(at now: Duration) -> (attempts: [PushAttempt], locked: [OutboxUpdate.Push]) {
        (recording, waiting, due) = (waiting, [], nil)
        guard let time = lockedDue, time <= now else { return (recording, []) }
        lockedDue = nil
        return (recording, Array(locked.values))
    }

    /// Records that the taken ones are recorded.
    ///
    /// - Parameter changes: What was written, of which the database has left `rows` out.
    mutating func recorded(_ changes: [OutboxUpdate.Push], exceptLocked rows: Set<Int64>, at now: Duration) {
        for change in changes { locked[change.id] = rows.contains(change.id) ? change : nil }
        (recording, hasFailed) = ([], false)
        lockedDue = locked.isEmpty ? nil : lockedDue ?? now + Schedule.storeRetryInterval
    }

    /// Records that the taken ones could not be recorded.
    mutating func failed(at now: Duration) {
        waiting = recording + waiting
        (recording, hasFailed, due) = ([], true, now)
        if !locked.isEmpty { lockedDue = now }
    }
}
