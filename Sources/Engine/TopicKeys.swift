import Envelope
import StatusCrypto
import Store
import Synchronization

/// The symmetric keys of query topics, derived when the first message arrives on one and kept from then on.
///
/// A derivation costs about 13 ms of a core (PBKDF2 with 65,356 iterations, PROTOCOL.md §2), so anybody could buy a second of ours with
/// a few messages on topics not used yet. Derivations therefore run one at a time on a thread of low priority, beside the pipeline,
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

    /// What there is of a key.
    enum Entry {
        case known(SymmetricKey)
        case notDerived(Identifier)
    }

    /// Keys in memory: 20,000 at about 100 bytes; beyond that the store has them.
    private static let maximumCachedCount = 20_000

    private let store: any PushStore
    /// By registration, not by key hash: to learn that takes a read of the store, 60 µs a message. A row is one installation's for ever.
    private let cache = Mutex<[TopicTable.Subscriber: SymmetricKey]>([:])
    private let derivations = BackgroundThread(name: "topic-keys")
    private let compute: @Sendable (TopicName) -> SymmetricKey

    init(store: any PushStore, derive: @escaping @Sendable (TopicName) -> SymmetricKey) {
        self.store = store
        compute = derive
    }

    /// Brings into memory what the store has of the keys of these topics. What cannot be read is left to ``entries(for:)``.
    func load(_ subscribers: [TopicTable.Subscriber]) async {
        let missing = cache.withLock { cache in subscribers.filter { cache[$0] == nil } }
        guard !missing.isEmpty, let stored = try? await store.topicKeys(missing.map { ($0.registration, $0.isPrefixed) }) else { return }
        for case (let subscriber, let stored?) in zip(missing, stored) {
            if let key = stored.key { _ = remember(key, of: subscriber) }
        }
    }

    /// What there is of the keys of these topics, from memory and, in one read for all of them, from the store. Topics whose owner is gone
    /// are not in it.
    func entries(for subscribers: [TopicTable.Subscriber]) async throws -> [TopicTable.Subscriber: Entry] {
        var entries: [TopicTable.Subscriber: Entry] = [:]
        cache.withLock { cache in
            for subscriber in subscribers {
                if let key = cache[subscriber] { entries[subscriber] = .known(key) }
            }
        }
        let missing = subscribers.filter { entries[$0] == nil }
        guard !missing.isEmpty else { return entries }
        let stored = try await store.topicKeys(missing.map { ($0.registration, $0.isPrefixed) })
        for case (let subscriber, let stored?) in zip(missing, stored) {
            let topic = Identifier(subscriber: subscriber, keyHash: stored.keyHash)
            entries[subscriber] = stored.key.map { .known(remember($0, of: subscriber)) } ?? .notDerived(topic)
        }
        return entries
    }

    /// The key, derived and kept if need be.
    func derive(_ topic: Identifier) async throws -> SymmetricKey {
        if let key = cache.withLock({ $0[topic.subscriber] }) { return key }
        if let key = try await store.topicKey(keyHash: topic.keyHash, prefixed: topic.subscriber.isPrefixed) {
            return remember(key, of: topic.subscriber)
        }
        let name = TopicName.query(topic.keyHash, topic.subscriber.isPrefixed ? .prefixed : .plain)
        let key = await derivations.run { [compute] in compute(name) }
        // The database is as secret as the key file, and mode 0600 like it.
        let bytes = key.withExposedBytes { FixedBytes<32>($0) ?? FixedBytes() }
        try await store.saveTopicKey(bytes, keyHash: topic.keyHash, prefixed: topic.subscriber.isPrefixed)
        return remember(bytes, of: topic.subscriber)
    }

    private func remember(_ bytes: FixedBytes<32>, of subscriber: TopicTable.Subscriber) -> SymmetricKey {
        let key = SymmetricKey(bytes)
        cache.withLock { cache in
            if cache.count >= Self.maximumCachedCount { cache.removeAll(keepingCapacity: true) }
            cache[subscriber] = key
        }
        return key
    }
}
