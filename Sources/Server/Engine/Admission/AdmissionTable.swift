import Envelope
import Foundation
import Store
import Transport
import Wire

/// The state of every message between the network and its decision.
///
/// | state | where the message is | counts towards the limits |
/// |---|---|---|
/// | being recorded | with the caller of ``admit(_:origin:)``, who holds a permit | yes |
/// | waiting | in the journal: undecided, or a query to be decided again | no |
/// | waiting for a topic key | in the journal | no |
/// | queued | in memory, in the round of its topic | yes |
/// | in a stage | in memory, with the holder of a permit | yes |
///
/// While the store is away, all messages wait in the journal: those in memory return to it, and later ones stay there
/// (``pause(_:)``). Afterwards they are read again as capacity becomes free, the oldest first.
///
/// While the limits are reached, the server rejects messages before it records them (`Overload`): they stay with their sender or in the
/// node's store. Callers never wait, because a waiting transport could not receive further messages.
struct AdmissionTable: Sendable {
    struct Limits: Sendable {
        /// The number of messages from which on the server rejects more.
        var count: Int
        /// The size of their envelopes, as estimated, from which on the server rejects more.
        var byteCount: Int
    }

    /// The number of messages and their estimated bytes.
    struct Size: Equatable, Sendable {
        static let zero = Size(count: 0, byteCount: 0)

        var count: Int
        var byteCount: Int
    }

    /// Why a message waits in the journal.
    enum Reason: Sendable {
        /// A crash left it, the store was away, its lookup failed, or its topic key has arrived. The oldest is read first, in the order of
        /// arrival.
        case undecided
        /// A query whose response found no capacity: a response is not stored. The newest is read first, because its sender still waits.
        case unanswered
    }

    /// Two cores need about 20 ms for so many. With more the queue has built up.
    private static let congestionThreshold = 64

    private let limits: Limits
    private(set) var size = Size.zero
    /// Messages on the server's own topics, where all registrations and push requests arrive.
    private var own = TopicRoundRobin<RecordedMessage>()
    /// Messages on query topics.
    private var queries = TopicRoundRobin<RecordedMessage>()
    private var isOwnNext = true
    private var topicKeys = TopicKeyQueue()
    /// The journal rows that wait to be read into memory.
    private var rows: [Reason: IndexSet] = [:]
    private var isPaused = false
    private var isFinished = false

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether no message is in memory or being recorded.
    var isIdle: Bool { size.count == 0 }
    /// Whether no message is in memory, and none in the journal waits to be read.
    var isEmpty: Bool { isIdle && rows.values.allSatisfy { $0.count == 0 } }
    /// Whether every message is decided, except queries to be decided again, messages that wait for a topic key, and incomplete segments.
    var isDecided: Bool { isIdle && count(.undecided) == 0 }
    /// Whether more messages are in memory than the cores can process at the same time.
    var isCongested: Bool { size.count > Self.congestionThreshold }
    /// The number of messages that may be read from the journal, or 0 unless half of the limits is free.
    var freeCount: Int { overload(fraction: 2) == nil ? max(1, limits.count / 2 - size.count) : 0 }

    // MARK: From the network

    /// Counts messages before the server records them. Backfilled messages can wait, so they leave half of the limits free.
    ///
    /// - Returns: The reason why the messages are rejected, or nil if they are admitted.
    mutating func admit(_ new: Size, origin: EnvelopeOrigin) -> Overload? {
        if let overload = overload(fraction: 1) { return overload }
        if origin == .backfilled, overload(fraction: 2) != nil { return .history }
        add(new)
        return nil
    }

    /// Counts messages that are in memory already, even beyond the limits.
    mutating func add(_ new: Size) {
        size.count += new.count
        size.byteCount += new.byteCount
    }

    /// Uncounts messages that are no longer in memory.
    mutating func release(_ old: Size) {
        size.count -= old.count
        size.byteCount -= old.byteCount
    }

    /// Returns the limit that the present messages have reached. With a `fraction` of 2, the limit that they have reached half of.
    ///
    /// New messages do not count, so that a batch larger than the limits is admitted when it is alone.
    ///
    /// - Returns: nil if no limit is reached.
    private func overload(fraction: Int) -> Overload? {
        if size.count * fraction >= limits.count { return .messageCount }
        if size.byteCount * fraction >= limits.byteCount { return .byteCount }
        return nil
    }

    // MARK: Through the queue

    /// Queues messages, each in its topic's round. Ignores them once the queue is finished: the next start reads them.
    mutating func enter(_ messages: [RecordedMessage]) {
        guard !isFinished else { return }
        guard !isPaused else { return addRows(messages.map(\.id), .undecided) }
        for message in messages {
            add(message.size)
            let topic = message.envelope.message.contentTopic
            if message.addressees.isIdentity { own.add(message, on: topic) } else { queries.add(message, on: topic) }
        }
    }

    /// Removes the next messages to be opened from the queue. They still count towards the limits.
    ///
    /// Own topics and query topics alternate, so a flood on query topics leaves every second slot to the server's own topics.
    ///
    /// - Returns: Up to `maximumCount` messages, or empty when the queue is finished and empty, or nil when there is nothing to do yet.
    mutating func next(maximumCount: Int) -> [RecordedMessage]? {
        var batch: [RecordedMessage] = []
        while batch.count < maximumCount, let message = nextMessage() { batch.append(message) }
        return batch.isEmpty && !isFinished ? nil : batch
    }

    private mutating func nextMessage() -> RecordedMessage? {
        defer { isOwnNext.toggle() }
        return isOwnNext ? own.next() ?? queries.next() : queries.next() ?? own.next()
    }

    /// Records for query topics whether their messages could be opened. Junk on the server's own topics demotes nothing: every client uses
    /// them.
    mutating func recordResults(_ results: [(topic: String, isJunk: Bool)]) {
        for result in results { queries.recordResult(isJunk: result.isJunk, on: result.topic) }
    }

    /// Closes the queue. ``next(maximumCount:)`` still returns the messages in it.
    mutating func finish() { isFinished = true }

    // MARK: In the journal

    /// Returns the queued messages to the journal, and lets them and later messages wait there until the pause ends.
    mutating func pause(_ isPaused: Bool) {
        self.isPaused = isPaused
        while isPaused, let message = nextMessage() {
            addRows([message.id], .undecided)
            release(message.size)
        }
    }

    /// The number of rows that wait for a reason.
    func count(_ reason: Reason) -> Int { rows[reason]?.count ?? 0 }

    /// Adds rows that wait to be read.
    mutating func addRows(_ new: [Int64], _ reason: Reason) {
        for row in new where row.isRowNumber { rows[reason, default: []].insert(Int(row)) }
    }

    /// Returns the rows to read next: the oldest if they are undecided, the newest if they are unanswered. ``enter(_:of:_:)`` removes them.
    ///
    /// - Returns: At most `maximumCount` and at most ``freeCount`` rows, or nil if no row waits, nothing is free, or the store is away.
    func nextRows(_ reason: Reason, maximumCount: Int) -> [Int64]? {
        let count = min(maximumCount, freeCount)
        guard count > 0, !isPaused, let waiting = rows[reason], waiting.count > 0 else { return nil }
        return (reason == .undecided ? waiting.prefix(count) : waiting.suffix(count)).map { Int64($0) }
    }

    /// Queues the messages of rows that have been read. A row without a message has been decided since.
    mutating func enter(_ messages: [RecordedMessage], of read: [Int64], _ reason: Reason) {
        for row in read { rows[reason]?.remove(Int(row)) }
        enter(messages)
    }

    // MARK: Waiting for a topic key

    /// - Returns: How many messages were displaced from the topic queue. This message may be among them.
    mutating func addRow(_ row: Int64, waitingFor topic: TopicKeyQueue.Topic) -> Int { topicKeys.add(row, waitingFor: topic) }

    /// Adds topics whose keys are derived in advance, unless there is more urgent work.
    mutating func deriveInAdvance(_ subscribers: [TopicTable.Subscriber]) {
        if !isCongested { topicKeys.add(inAdvance: subscribers) }
    }

    /// Starts the next derivation of a key.
    mutating func startDerivation() -> TopicKeyQueue.Work? {
        if isCongested { topicKeys.dropAdvance() }
        return topicKeys.start()
    }

    /// Makes the messages readable that waited for a topic's key.
    mutating func finishTopic(_ topic: TopicKeyQueue.Topic) { addRows(topicKeys.take(topic), .undecided) }
}

extension AdmissionTable.Size {
    /// An envelope's estimated size without its payload.
    static let overheadByteCount = 512

    /// The size of messages with these payloads.
    init(payloads: [Int]) {
        self.init(count: payloads.count, byteCount: payloads.reduce(0) { $0 + $1 + Self.overheadByteCount })
    }
}

extension RecordedMessage {
    var size: AdmissionTable.Size { .init(payloads: [envelope.message.payload.count]) }
}
