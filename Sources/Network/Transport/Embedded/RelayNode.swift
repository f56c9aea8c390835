import Bytes
import Envelope
import StatusCrypto
import Wire

/// A node's state: its subscriptions, the messages for the next GET, and its store. Every operation is quick.
struct RelayNode {
    /// For all clients together. Subscriptions cost little, but names are free. A node has a shard or two, a large network eight.
    static let maximumSubscriptionCount = 64

    /// The subscriptions from the start, which clients cannot remove.
    private let own: Set<String>
    private var subscriptions: Set<String>
    private var cache: MessageCache
    private var archive: MessageArchive

    /// - Parameters:
    ///   - pubsubTopics: The topics subscribed from the start, like `--shard` of nwaku's command line.
    ///   - archive: The earlier content of the node's store.
    init(pubsubTopics: [String], cacheCapacity: Int = MessageCache.defaultCapacity, archive: MessageArchive = MessageArchive()) {
        own = Set(pubsubTopics)
        subscriptions = own
        cache = MessageCache(capacity: cacheCapacity)
        self.archive = archive
    }

    func isSubscribed(to pubsubTopic: String) -> Bool {
        subscriptions.contains(pubsubTopic)
    }

    /// - Returns: False if the limit is reached. The node then subscribes to none of the topics.
    mutating func subscribe(to pubsubTopics: [String]) -> Bool {
        let subscriptions = subscriptions.union(pubsubTopics)
        guard subscriptions.count <= max(Self.maximumSubscriptionCount, own.count) else { return false }
        self.subscriptions = subscriptions
        return true
    }

    /// Unsubscribes from topics, but keeps the subscriptions from the start.
    mutating func unsubscribe(from pubsubTopics: [String]) {
        for topic in pubsubTopics where !own.contains(topic) && subscriptions.remove(topic) != nil { cache.remove(pubsubTopic: topic) }
    }

    /// Adds a message published here or elsewhere.
    ///
    /// - Returns: Whether the store has added it.
    @discardableResult
    mutating func receive(_ envelope: WakuEnvelope, hash: Digest32, now: Timestamp) -> Bool {
        guard isSubscribed(to: envelope.pubsubTopic) else { return false }
        cache.add(envelope)
        return archive.add(envelope, hash: hash, now: now)
    }

    /// Adds a message of another store.
    mutating func synchronize(_ envelope: WakuEnvelope, hash: Digest32) {
        archive.restore(envelope, hash: hash)
    }

    /// Removes and returns the messages since the last call.
    ///
    /// - Returns: The messages, or nil if the node is not subscribed.
    mutating func take(pubsubTopic: String) -> [WakuMessage]? {
        isSubscribed(to: pubsubTopic) ? cache.take(pubsubTopic: pubsubTopic) : nil
    }

    /// - Returns: The page, or nil if the cursor's message is not in the store.
    func page(_ query: MessageArchive.Query) -> MessageArchive.Page? {
        archive.page(query)
    }
}
