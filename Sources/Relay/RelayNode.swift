import Envelope
import StatusCrypto
import Wire

/// What one node knows: its subscriptions, what it keeps for the next GET, and its store. Every operation is quick.
struct RelayNode {
    /// Subscriptions of all clients together: they cost little, but names are free. A node has a shard or two, a large network eight.
    static let maximumSubscriptionCount = 64

    /// Those that it has from the start stay: no client of it may make it deaf for the others.
    private let own: Set<String>
    private var subscriptions: Set<String>
    private var cache: MessageCache
    private var archive: MessageArchive

    /// - Parameters:
    ///   - pubsubTopics: subscribed to from the start, like `--shard` of nwaku's command line.
    ///   - archive: what the node's store has from earlier.
    init(pubsubTopics: [String], cacheCapacity: Int = MessageCache.defaultCapacity, archive: MessageArchive = MessageArchive()) {
        own = Set(pubsubTopics)
        subscriptions = own
        cache = MessageCache(capacity: cacheCapacity)
        self.archive = archive
    }

    func isSubscribed(to pubsubTopic: String) -> Bool {
        subscriptions.contains(pubsubTopic)
    }

    /// - Returns: false when there is no room for them all: then for none.
    mutating func subscribe(to pubsubTopics: [String]) -> Bool {
        let subscriptions = subscriptions.union(pubsubTopics)
        guard subscriptions.count <= max(Self.maximumSubscriptionCount, own.count) else { return false }
        self.subscriptions = subscriptions
        return true
    }

    /// The node's own stay, whoever asks.
    mutating func unsubscribe(from pubsubTopics: [String]) {
        for topic in pubsubTopics where !own.contains(topic) && subscriptions.remove(topic) != nil { cache.remove(pubsubTopic: topic) }
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
