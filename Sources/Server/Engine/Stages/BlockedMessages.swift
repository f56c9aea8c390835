import Bytes
import StatusCrypto
import Tasks

/// Messages that cannot be stored at present, although the store works: another database session holds a row that they need, or only they
/// are too large for the space that is left. They wait in the journal without delaying other messages.
///
/// A message that fails blocks the owners whose rows are held, or only itself if the store does not know the row. Later messages about a
/// blocked owner wait too, because each would take the time of a lock. After a delay, the first of them is tried alone. If it succeeds, all
/// of them return. If it fails, the delay doubles, and the next message is tried, because perhaps only the first message needs a locked
/// row. Events go in, and the value does not perform I/O.
struct BlockedMessages: Sendable {
    /// A database row that messages may need.
    enum Subject: Hashable, Sendable {
        case message(Int64)
        /// The row of a key, which all messages about its installations lock.
        case owner(Digest64)
    }

    /// The delay before a trial. A lock held by mistake may last for hours, and each trial delays the writer by half a second.
    static let backOff = BackOff(first: .seconds(1), longest: .seconds(30), minimumShare: 1)

    /// Trials of messages that wait for an unknown row take at most a twentieth of the writer's time.
    private static let trialShare = 20

    private struct Block: Sendable {
        var failureCount: Int
        /// The monotonic time at which the next trial starts.
        var trialTime: Duration
        /// The message whose trial is in progress.
        var trial: Int64?
        /// The message that was tried last.
        var lastTrial = Int64.min
        /// The messages that wait, by row, with all their rows, which include their segments.
        var waiting: [Int64: [Int64]] = [:]
    }

    private var blocks: [Subject: Block] = [:]
    /// The time from which the writer may spend time on trials again.
    private var nextAllowedTrial = Duration.zero

    /// Whether no subject is blocked.
    var isEmpty: Bool { blocks.isEmpty }
    /// The number of messages that wait.
    var count: Int { Set(blocks.values.flatMap(\.waiting.keys)).count }
    /// The monotonic time at which the next trial starts, or nil if no subject is blocked.
    var nextTrialTime: Duration? { blocks.values.map(\.trialTime).min() }

    /// Records that a message failed alone. It waits.
    ///
    /// - Parameters:
    ///   - rows: The message's rows, with its own first.
    ///   - subjects: The database rows that are held: those of owners, or of the message alone.
    ///   - cost: The time that the writer took.
    mutating func failed(_ rows: [Int64], _ subjects: [Subject], at now: Duration, after cost: Duration = .zero) {
        nextAllowedTrial = max(nextAllowedTrial, now) + cost * Self.trialShare
        for subject in subjects {
            var block = blocks[subject] ?? Block(failureCount: 0, trialTime: now)
            // The messages of a batch fail together, which is one failure of each row that is held.
            if block.failureCount == 0 || block.trial == rows[0] {
                block.failureCount += 1
                block.trialTime = max(now + Self.backOff.bound(afterFailures: block.failureCount), nextAllowedTrial)
                block.trial = nil
            }
            block.waiting[rows[0]] = rows
            blocks[subject] = block
        }
    }

    enum Admittance { case together, alone, no }

    /// Lets a message wait if any of its subjects is blocked, unless this is its trial.
    mutating func admit(_ rows: [Int64], _ subjects: [Subject]) -> Admittance {
        let blocked = subjects.filter { blocks[$0] != nil }
        guard !blocked.isEmpty else { return .together }
        guard !blocked.contains(where: { blocks[$0]?.trial == rows[0] }) else { return .alone }
        for subject in blocked { blocks[subject]?.waiting[rows[0]] = rows }
        return .no
    }

    /// Records that messages about subjects were stored.
    ///
    /// - Returns: The rows of messages that need not wait any longer.
    mutating func succeeded(_ subjects: some Sequence<Subject>) -> [Int64] {
        guard !blocks.isEmpty else { return [] }
        return subjects.compactMap { blocks.removeValue(forKey: $0) }.flatMap { $0.waiting.values.joined() }
    }

    /// Starts the trials that are due, with a message for each subject. If an earlier trial's message never came back, another server has
    /// decided it, and the next message is tried.
    ///
    /// - Returns: The rows to be tried.
    mutating func startTrials(at now: Duration) -> [Int64] {
        var rows: [Int64] = []
        for (subject, block) in blocks where block.trialTime <= now {
            guard let row = block.waiting.keys.filter({ $0 > block.lastTrial }).min() ?? block.waiting.keys.min() else {
                blocks[subject] = nil
                continue
            }
            rows += block.waiting[row] ?? []
            blocks[subject]?.waiting[row] = nil
            blocks[subject]?.trial = row
            blocks[subject]?.lastTrial = row
            blocks[subject]?.trialTime = now + Self.backOff.bound(afterFailures: block.failureCount + 1)
        }
        return Array(Set(rows))
    }
}
