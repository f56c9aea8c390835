import Envelope
import Foundation
import Transport
import Wire

/// The state of every message between the network and its decision.
///
/// | state | where the message is | counts towards the limits |
/// |---|---|---|
/// | being recorded | with the caller of ``admit(_:origin:)``, who holds a permit | yes |
/// | waiting | in the journal: undecided, or to be answered again | no |
/// | waiting for a topic key | in the journal | no |
/// | queued | in memory, in the round of its topic | yes |
/// | in a stage | in memory, with the holder of a permit | yes |
///
/// The server rejects what exceeds the limits before it records it (`Overload`): the message stays with its sender or in the node's store.
/// Callers are never kept waiting: a transport that waited could not receive the messages that still fit.
struct AdmissionTable: Sendable {
    struct Limits: Sendable {
        /// Messages: at some kilobytes each a few megabytes, and seconds of work.
        var count: Int
        /// Bytes of their envelopes. Opened and decoded, a message takes about three times as much.
        var byteCount: Int
    }

    /// The capacity that messages take.
    struct Size: Equatable, Sendable {
        static let zero = Size(count: 0, byteCount: 0)

        var count: Int
        var byteCount: Int
    }

    /// Why a message waits in the journal.
    enum Reason: Sendable {
        /// A crash left it, its lookup failed, or its topic key has arrived. The oldest is read first, in the order of arrival.
        case undecided
        /// A query whose response found no capacity: a response is not stored. The newest is read first, because its sender still waits.
        case unanswered
    }

    /// Messages that take two cores about 20 ms. More of them mean that work has piled up.
    private static let congestionThreshold = 64

    private let limits: Limits
    private(set) var size = Size.zero
    /// Messages on the server's own topics, where all registrations and push requests arrive.
    private var own = TopicRoundRobin<RecordedMessage>()
    /// Messages on query topics.
    private var queries = TopicRoundRobin<RecordedMessage>()
    private var isOwnNext = true
    private var topicKeys = TopicKeyQueue()
    /// Rows that wait in the journal to be read.
    private var rows: [Reason: IndexSet] = [:]
    private var isFinished = false

    init(limits: Limits) {
        self.limits = limits
    }

    /// Whether no message is in memory or being recorded.
    var isIdle: Bool { size.count == 0 }
    /// Whether no message is in memory, and none in the journal waits to be read.
    var isEmpty: Bool { isIdle && rows.values.allSatisfy { $0.count == 0 } }
    /// Whether every message is decided, except queries to be answered again and messages that wait for a topic key.
    var isDecided: Bool { isIdle && count(.undecided) == 0 }
    /// Whether the cores have more to do than the messages of this moment.
    var isCongested: Bool { size.count > Self.congestionThreshold }
    /// How many messages may be read from the journal; 0 unless half of the limits is free.
    var freeCount: Int { overload(fraction: 2) == nil ? max(1, limits.count / 2 - size.count) : 0 }

    // MARK: From the network

    /// Counts messages that are going to be recorded. Backfilled messages can wait: they leave half of the limits free.
    ///
    /// - Returns: Why they are rejected; nil if they are admitted.
    mutating func admit(_ new: Size, origin: EnvelopeOrigin) -> Overload? {
        if let overload = overload(fraction: 1) { return overload }
        if origin == .backfilled, overload(fraction: 2) != nil { return .history }
        add(new)
        return nil
    }

    /// Counts what follows from admitted messages, without a limit.
    mutating func add(_ new: Size) {
        size.count += new.count
        size.byteCount += new.byteCount
    }

    mutating func release(_ old: Size) {
        size.count -= old.count
        size.byteCount -= old.byteCount
    }

    /// A batch that is larger than the limits has to get in as well, when it is alone.
    private func overload(fraction: Int) -> Overload? {
        if size.count * fraction >= limits.count { return .messageCount }
        if size.byteCount * fraction >= limits.byteCount { return .byteCount }
        return nil
    }

    // MARK: Through the queue

    /// Queues messages, each in the round of its topic. Ignored once the queue is finished: the next start reads them.
    mutating func enter(_ messages: [RecordedMessage]) {
        guard !isFinished else { return }
        for message in messages {
            add(message.size)
            let topic = message.envelope.message.contentTopic
            if message.addressees.isIdentity { own.add(message, on: topic) } else { queries.add(message, on: topic) }
        }
    }

    /// The next messages to be opened, which stay counted. The server's own topics and query topics alternate: however many query topics
    /// are flooded, every second message is from an own topic.
    ///
    /// - Returns: Up to `maximumCount` messages; empty when the queue is finished and empty; nil when there is nothing to do yet.
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
    mutating func note(_ results: [(topic: String, isJunk: Bool)]) {
        for result in results { queries.note(result.topic, isJunk: result.isJunk) }
    }

    /// Closes the queue. Messages in it are still given out.
    mutating func finish() { isFinished = true }

    // MARK: In the journal

    func count(_ reason: Reason) -> Int { rows[reason]?.count ?? 0 }

    mutating func wait(_ new: [Int64], _ reason: Reason) {
        for row in new { rows[reason, default: []].insert(Int(row)) }
    }

    /// The rows to read next.
    ///
    /// - Returns: At most `maximumCount` rows and as many as are free; nil while there are none.
    func nextRows(_ reason: Reason, maximumCount: Int) -> [Int64]? {
        let count = min(maximumCount, freeCount)
        guard count > 0, let waiting = rows[reason], waiting.count > 0 else { return nil }
        return (reason == .undecided ? waiting.prefix(count) : waiting.suffix(count)).map { Int64($0) }
    }

    /// Queues the messages of rows that have been read. Rows without a message have been decided since.
    mutating func enter(_ messages: [RecordedMessage], of read: [Int64], _ reason: Reason) {
        for row in read { rows[reason]?.remove(Int(row)) }
        enter(messages)
    }

    // MARK: Waiting for a topic key

    /// - Returns: The number of messages that were displaced from the queue of topics, including this one.
    mutating func wait(_ row: Int64, for topic: TopicKeyQueue.Topic) -> Int { topicKeys.add(row, waitingFor: topic) }

    /// The topic whose key is derived next.
    func nextTopic() -> TopicKeyQueue.Topic? { topicKeys.next }

    /// Lets the messages be read that waited for the key of a topic.
    mutating func finishTopic(_ topic: TopicKeyQueue.Topic) { wait(topicKeys.take(topic), .undecided) }
}

extension AdmissionTable.Size {
    /// The estimated bytes of an envelope beside its payload.
    static let overheadByteCount = 512

    /// The size of messages with these payloads.
    init(payloads: [Int]) {
        self.init(count: payloads.count, byteCount: payloads.reduce(0) { $0 + $1 + Self.overheadByteCount })
    }
}

extension RecordedMessage {
    var size: AdmissionTable.Size { .init(payloads: [envelope.message.payload.count]) }
}
