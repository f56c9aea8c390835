import Bytes
import DequeModule
import StatusCrypto

/// Decides which query topic's key is derived next, and holds the rows that wait for it.
///
/// A derivation takes 18 ms, and an untrusted client can register and publish on its registration's topics. So each topic takes a single
/// slot, no matter how many messages wait for it. The oldest and the newest registration alternate. A crowd of throw-away registrations is
/// between them in age, so it delays neither the owners that registered before it nor those that registered after it.
///
/// While no message waits, the keys of new registrations are derived in advance, so that the first query about them does not wait.
///
/// Messages wait as rows in the journal. Messages that lose their slot are opened again when the queue is empty. A late query is decided
/// from the registrations of that time.
struct TopicKeyQueue: Sendable {
    /// A topic that waits, and its registration.
    struct Topic: Sendable, Equatable {
        var subscriber: TopicTable.Subscriber
        var keyHash: Digest64
    }

    /// A derivation to perform.
    enum Work: Sendable, Equatable {
        case topic(Topic)
        /// The key of a new registration's topic, for which no message waits yet.
        case advance(TopicTable.Subscriber)
    }

    private struct Key: Hashable {
        var keyHash: Digest64
        var isPrefixed: Bool

        init(_ topic: Topic) { (keyHash, isPrefixed) = (topic.keyHash, topic.subscriber.isPrefixed) }
    }

    /// Means 18 s of work, and the memory of a few hundred messages.
    static let maximumTopicCount = 1_000
    /// The number of keys that wait to be derived in advance. Later registrations' keys are derived when a message needs them.
    static let maximumAdvanceCount = 1_000

    private var rows: [Key: [Int64]] = [:]
    /// The topics of `rows`, oldest registration first.
    private var topics: [Topic] = []
    /// The topics whose keys are being derived.
    private var started: Set<Key> = []
    private var advance: Deque<TopicTable.Subscriber> = []
    private var isNewestNext = false
    /// Rows that lost their slot.
    private var overflow: [Int64] = []

    /// Adds a row that waits for a topic's key.
    ///
    /// - Returns: The number of messages that lost their slot. The new message may be among them.
    mutating func add(_ row: Int64, waitingFor topic: Topic) -> Int {
        let key = Key(topic)
        if rows[key] == nil { insert(topic) }
        rows[key, default: []].append(row)
        guard topics.count > Self.maximumTopicCount else { return 0 }
        // The topic in the middle would be served last.
        let evicted = rows.removeValue(forKey: Key(topics.remove(at: topics.count / 2))) ?? []
        overflow += evicted
        return evicted.count
    }

    /// Adds topics of new registrations, unless messages wait for other keys.
    mutating func add(inAdvance subscribers: [TopicTable.Subscriber]) {
        guard topics.isEmpty else { return }
        advance += subscribers.prefix(Self.maximumAdvanceCount - advance.count)
    }

    /// Drops the topics for which no message waits, because there is more urgent work.
    mutating func dropAdvance() { advance = [] }

    /// Starts the next derivation, or returns nil if none is to do.
    mutating func start() -> Work? {
        let isFree = { [started] (topic: Topic) in !started.contains(Key(topic)) }
        guard let topic = isNewestNext ? topics.last(where: isFree) : topics.first(where: isFree) else {
            return advance.popFirst().map { .advance($0) }
        }
        isNewestNext.toggle()
        started.insert(Key(topic))
        return .topic(topic)
    }

    /// Removes a topic whose key has been derived.
    ///
    /// - Returns: The rows that waited for it. With the last topic also those that lost their slot.
    mutating func take(_ topic: Topic) -> [Int64] {
        let key = Key(topic)
        started.remove(key)
        var taken = rows.removeValue(forKey: key) ?? []
        topics.removeAll { Key($0) == key }
        if topics.isEmpty {
            taken += overflow
            overflow = []
        }
        return taken
    }

    private mutating func insert(_ topic: Topic) {
        var (low, high) = (topics.startIndex, topics.endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if topics[middle].subscriber.registration < topic.subscriber.registration { low = middle + 1 } else { high = middle }
        }
        topics.insert(topic, at: low)
    }
}
