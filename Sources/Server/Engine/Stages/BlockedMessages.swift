import PushProtocol
import Store
import Tasks

/// Messages that cannot be stored at present, although the store works: another session of the database holds a row that they need, or they
/// alone find no space. They wait in the journal, and delay no other message.
///
/// A message that fails blocks its subjects. Later messages about a blocked subject wait too, because each would take the time of a lock.
/// After a delay one of them is tried alone. If it succeeds, the others return; if not, the delay doubles, and the next trial is that of the
/// next message, because a row of the first one alone may be locked. Events go in, and the value performs no I/O.
struct BlockedMessages: Sendable {
    /// A row of the database that several messages may need.
    enum Subject: Hashable, Sendable {
        case message(Int64)
        case installation(Installation)
    }

    /// The delay before a trial. A lock held by mistake may last for hours, and each trial of it delays the writer by half a second.
    static let backOff = BackOff(first: .seconds(1), longest: .seconds(30), minimumShare: 1)

    private struct Block: Sendable {
        var failureCount: Int
        /// The monotonic time of the next trial.
        var trialTime: Duration
        /// The message whose trial is in progress.
        var trial: Int64?
        /// The message of the newest trial.
        var lastTrial = Int64.min
        /// The rows of the messages that wait, in their order, with those of their segments.
        var waiting: [Int64: [Int64]] = [:]
    }

    private var blocks: [Subject: Block] = [:]

    /// Whether no subject is blocked.
    var isEmpty: Bool { blocks.isEmpty }
    /// The number of messages that wait.
    var count: Int { Set(blocks.values.flatMap(\.waiting.keys)).count }
    /// The monotonic time of the next trial; nil if no subject is blocked.
    var nextTrialTime: Duration? { blocks.values.map(\.trialTime).min() }

    /// Records that a message failed alone. It waits.
    ///
    /// - Parameters:
    ///   - rows: The rows of the message, its own first.
    ///   - subjects: The rows of the database one of which was blocked.
    mutating func failed(_ rows: [Int64], _ subjects: [Subject], at now: Duration) {
        for subject in subjects {
            var block = blocks[subject] ?? Block(failureCount: 0, trialTime: now)
            block.failureCount += 1
            block.trialTime = now + Self.backOff.bound(afterFailures: block.failureCount)
            block.trial = nil
            block.waiting[rows[0]] = rows
            blocks[subject] = block
        }
    }

    enum Admittance { case together, alone, no }

    /// Lets a message wait if one of its subjects is blocked, unless this is its trial.
    mutating func admit(_ rows: [Int64], _ subjects: [Subject]) -> Admittance {
        let blocked = subjects.filter { blocks[$0] != nil }
        guard !blocked.isEmpty else { return .together }
        guard !blocked.contains(where: { blocks[$0]?.trial == rows[0] }) else { return .alone }
        for subject in blocked { blocks[subject]?.waiting[rows[0]] = rows }
        return .no
    }

    /// Records that messages about subjects were stored.
    ///
    /// - Returns: The rows of the messages that need not wait any longer.
    mutating func succeeded(_ subjects: some Sequence<Subject>) -> [Int64] {
        guard !blocks.isEmpty else { return [] }
        return subjects.compactMap { blocks.removeValue(forKey: $0) }.flatMap { $0.waiting.values.joined() }
    }

    /// Starts the trials that are due, one message for each subject. If the message of an earlier trial never came back, another server has
    /// decided it, and the next one is tried.
    ///
    /// - Returns: The rows of the messages to be tried.
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
