import Envelope
import StatusCrypto
import Wire

/// What one node knows: its subscriptions, what it keeps for the next GET, and its store. Every operation is quick.
struct RelayNode {
    private let ownTopics: Set<String>
    private let cacheCapacity: Int
    private var subscriptions: Set<String>
    private var cache: MessageCache
    private var archive: MessageArchive
    /// On their way to the node, in the order in which they were published.
    private var underWay: [(arrival: Timestamp, envelope: WakuEnvelope, hash: Digest32)] = []
    private var arrivalCount = 0

    /// - Parameters:
    ///   - pubsubTopics: subscribed to from the start, like `--shard` of nwaku's command line.
    ///   - archive: what the node's store has from earlier.
    init(pubsubTopics: [String], cacheCapacity: Int = MessageCache.defaultCapacity, archive: MessageArchive = MessageArchive()) {
        ownTopics = Set(pubsubTopics)
        self.cacheCapacity = cacheCapacity
        self.archive = archive
        subscriptions = ownTopics
        cache = MessageCache(capacity: cacheCapacity)
    }

    func isSubscribed(to pubsubTopic: String) -> Bool {
        subscriptions.contains(pubsubTopic)
    }

    mutating func subscribe(to pubsubTopics: [String]) {
        subscriptions.formUnion(pubsubTopics)
    }

    mutating func unsubscribe(from pubsubTopics: [String]) {
        for topic in pubsubTopics where subscriptions.remove(topic) != nil { cache.remove(pubsubTopic: topic) }
    }

    /// Takes a message that was published, here or elsewhere.
    ///
    /// - Returns: whether the store has it now and had not before.
    @discardableResult
    mutating func hear(_ envelope: WakuEnvelope, hash: Digest32, now: Timestamp, faults: RelayFaults = RelayFaults()) -> Bool {
        guard isSubscribed(to: envelope.pubsubTopic) else { return false }
        arrivalCount += 1
        guard !Self.befalls(arrivalCount, faults.dropEvery) else { return false }
        if !Self.befalls(arrivalCount, faults.evictEvery) { cache.add(envelope) }
        return archive.add(envelope, hash: hash, now: now)
    }

    private static func befalls(_ count: Int, _ every: Int) -> Bool {
        every > 0 && count.isMultiple(of: every)
    }

    /// Holds a message back until it arrives.
    mutating func delay(_ envelope: WakuEnvelope, hash: Digest32, until arrival: Timestamp) {
        underWay.append((arrival, envelope, hash))
    }

    /// What has arrived by now, to be heard.
    mutating func arrived(by now: Timestamp) -> [(envelope: WakuEnvelope, hash: Digest32)] {
        guard !underWay.isEmpty else { return [] }
        defer { underWay.removeAll { $0.arrival <= now } }
        return underWay.filter { $0.arrival <= now }.map { ($0.envelope, $0.hash) }
    }

    /// Gives away what came in since the last time.
    ///
    /// - Returns: nil if the node is not subscribed.
    mutating func take(pubsubTopic: String) -> [WakuMessage]? {
        isSubscribed(to: pubsubTopic) ? cache.take(pubsubTopic: pubsubTopic) : nil
    }

    /// - Returns: nil if the cursor's message is not in the store.
    func page(_ query: MessageArchive.Query) -> MessageArchive.Page? {
        archive.page(query)
    }

    mutating func loseSubscriptions() {
        for topic in subscriptions { cache.remove(pubsubTopic: topic) }
        subscriptions = ownTopics
    }

    /// What survives a restart is the store.
    mutating func restart() {
        self = RelayNode(pubsubTopics: Array(ownTopics), cacheCapacity: cacheCapacity, archive: archive)
    }

    mutating func forgetStore() {
        archive = MessageArchive()
    }
}
