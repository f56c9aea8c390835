import Envelope
import StatusCrypto
import Store
import Synchronization

/// The symmetric keys of query topics, derived when the first message arrives on one and kept from then on.
///
/// A derivation costs about 13 ms of a core (PBKDF2 with 65,356 iterations, PROTOCOL.md §2), so anybody could buy a second of ours with
/// a few messages on topics not used yet. Derivations therefore run one at a time on a thread of the lowest priority, beside the pipeline,
/// and the number that may wait is bounded.
final class TopicKeys: Sendable {
    /// A query topic by name: whose it is, and in which form.
    struct Identifier {
        /// One of the owner's registrations, which brought us here.
        var subscriber: TopicTable.Subscriber
        var keyHash: Digest64

        /// Several installations of one key share their topics.
        func isSameTopic(as other: Self) -> Bool {
            keyHash == other.keyHash && subscriber.isPrefixed == other.subscriber.isPrefixed
        }
    }

    /// Keys in memory: 20,000 at about 100 bytes; beyond that the store has them.
    private static let maximumCachedCount = 20_000

    private let store: PushStore
    /// By registration, not by key hash: to learn that takes a read of the store, 60 µs a message. A row is one installation's for ever.
    private let cache = Mutex<[TopicTable.Subscriber: SymmetricKey]>([:])
    private let derivations = BackgroundThread(name: "topic-keys")

    init(store: PushStore) {
        self.store = store
    }

    /// The key if it is in memory: the usual case, without a look into the store.
    func cached(_ subscriber: TopicTable.Subscriber) -> SymmetricKey? {
        cache.withLock { $0[subscriber] }
    }

    /// The key if it was derived before; nil when that is still to be done.
    func known(_ topic: Identifier) async throws -> SymmetricKey? {
        if let key = cached(topic.subscriber) { return key }
        guard let bytes = try await store.topicKey(keyHash: topic.keyHash, prefixed: topic.subscriber.isPrefixed) else { return nil }
        let key = SymmetricKey(bytes)
        remember(key, of: topic)
        return key
    }

    /// The key, derived and kept if need be.
    func derive(_ topic: Identifier) async throws -> SymmetricKey {
        if let key = try await known(topic) { return key }
        let name = TopicName.query(topic.keyHash, topic.subscriber.isPrefixed ? .prefixed : .plain)
        let key = await derivations.run { name.deriveSymmetricKey() }
        // The database is as secret as the key file, and mode 0600 like it.
        let bytes = key.withExposedBytes { FixedBytes<32>($0) ?? FixedBytes() }
        try await store.saveTopicKey(bytes, keyHash: topic.keyHash, prefixed: topic.subscriber.isPrefixed)
        remember(key, of: topic)
        return key
    }

    private func remember(_ key: SymmetricKey, of topic: Identifier) {
        cache.withLock { cache in
            if cache.count >= Self.maximumCachedCount { cache.removeAll(keepingCapacity: true) }
            cache[topic.subscriber] = key
        }
    }
}
