import Envelope
import StatusCrypto
import Wire

/// What one node knows: its subscriptions, what it keeps for the next GET, and its store. Every operation is quick.
struct RelayNode {
    private var subscriptions: Set<String>
    private var cache: MessageCache
    private var archive: MessageArchive

    /// - Parameters:
    ///   - pubsubTopics: subscribed to from the start, like `--shard` of nwaku's command line.
    ///   - archive: what the node's store has from earlier.
    init(pubsubTopics: [String], cacheCapacity: Int = MessageCache.defaultCapacity, archive: MessageArchive = MessageArchive()) {
        subscriptions = Set(pubsubTopics)
        cache = MessageCache(capacity: cacheCapacity)
        self.archive = archive
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
    mutating func hear(_ envelope: WakuEnvelope, hash: Digest32, now: Timestamp) -> Bool {
        guard isSubscribed(to: envelope.pubsubTopic) else { return false }
        cache.add(envelope)
        return archive.add(envelope, hash: hash, now: now)
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
}
