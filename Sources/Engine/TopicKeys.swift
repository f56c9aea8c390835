import Concurrency
import Envelope
import Logging
import StatusCrypto
import Store
import Synchronization

/// The symmetric keys of query topics, derived when the first message arrives on one and kept from then on.
///
/// A derivation costs about 13 ms of a core (PBKDF2 with 65,356 iterations, PROTOCOL.md §2), so anybody could buy a second of ours with
/// a few messages on topics not used yet. Derivations therefore run one at a time on a thread of low priority, beside the pipeline.
final class TopicKeys: Sendable {
    /// The state of a topic's key.
    enum Entry: Sendable {
        case known(SymmetricKey)
        /// Nor has it been for another installation of its owner's key, which has the same topic.
        case notDerived(keyHash: Digest64)
        /// No registration has the topic.
        case ownerless
    }

    /// Entries in memory: 20,000 at about 100 bytes; beyond that the store has them.
    private static let maximumCachedCount = 20_000

    private let store: any PushStore
    /// By registration, not by key hash: to learn that takes a read of the store, 60 µs a message. A row is one installation's for ever.
    private let cache = Mutex<[TopicTable.Subscriber: Entry]>([:])
    private let thread = WorkerPool(name: "topic-keys")
    private let compute: @Sendable (TopicName) -> SymmetricKey

    init(store: any PushStore, derive: @escaping @Sendable (TopicName) -> SymmetricKey) {
        self.store = store
        compute = derive
    }

    /// The entry in memory; nil if it was never loaded, or was evicted.
    subscript(subscriber: TopicTable.Subscriber) -> Entry? {
        cache.withLock { $0[subscriber] }
    }

    /// The keys to try on a message on a query topic.
    struct Candidates: Sendable {
        /// Each once: all installations of an owner have the same key.
        var keys: [SymmetricKey] = []
        /// The first topic whose key is not derived; the next is found when the message is opened again.
        var missing: TopicKeyQueue.Topic?
    }

    /// The keys of those who may have the topic of a message; nil if one of them was never loaded, or was evicted from memory.
    func candidates(of subscribers: [TopicTable.Subscriber]) -> Candidates? {
        var candidates = Candidates()
        // Anybody can derive these keys from their owner's public key, so a copy of the bytes gives no secret away.
        var seen: Set<FixedBytes<32>?> = []
        for subscriber in subscribers {
            switch self[subscriber] {
            case .known(let key):
                if seen.insert(key.withExposedBytes { FixedBytes<32>($0) }).inserted { candidates.keys.append(key) }
            case .notDerived(let keyHash):
                candidates.missing = candidates.missing ?? TopicKeyQueue.Topic(subscriber: subscriber, keyHash: keyHash)
            case .ownerless:
                break
            case nil:
                return nil
            }
        }
        return candidates
    }

    /// Brings into memory what the store has on these topics, in one read for all that are not there.
    func load(_ subscribers: [TopicTable.Subscriber]) async throws {
        let missing = cache.withLock { cache in subscribers.filter { cache[$0] == nil } }
        guard !missing.isEmpty else { return }
        for (subscriber, entry) in zip(missing, try await read(missing)) { keep(entry, of: subscriber) }
    }

    /// Brings the key into memory, derived and saved if need be.
    ///
    /// - Throws: when it could not be read, or saved; in memory it is then all the same.
    func derive(_ subscriber: TopicTable.Subscriber, ownedBy keyHash: Digest64) async throws {
        if case .known = self[subscriber] { return }
        if case .known(let key)? = try? await read([subscriber]).first { return keep(.known(key), of: subscriber) }
        let name = TopicName.query(keyHash, subscriber.isPrefixed ? .prefixed : .plain)
        let key = try await thread.run { [compute] in compute(name) }
        // The database is as secret as the key file, and mode 0600 like it.
        let bytes = key.withExposedBytes { FixedBytes<32>($0) ?? FixedBytes() }
        keep(.known(key), of: subscriber)
        try await store.saveTopicKey(bytes, keyHash: keyHash, prefixed: subscriber.isPrefixed)
    }

    /// Derives the keys that messages in the journal wait for, until cancelled. Messages that still wait then are read at the next start.
    @concurrent
    func derive(for admission: Admission, logger: Logger) async {
        while !Task.isCancelled, let topic = await admission.nextTopic() {
            do {
                try await derive(topic.subscriber, ownedBy: topic.keyHash)
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("saving a derived topic key failed; kept in memory only", metadata: ["error": "\(error)"])
            }
            admission.finishTopic(topic)
        }
    }

    private func read(_ subscribers: [TopicTable.Subscriber]) async throws -> [Entry] {
        try await store.topicKeys(subscribers.map { ($0.registration, $0.isPrefixed) }).map { stored in
            guard let stored else { return .ownerless }
            return stored.key.map { .known(SymmetricKey($0)) } ?? .notDerived(keyHash: stored.keyHash)
        }
    }

    private func keep(_ entry: Entry, of subscriber: TopicTable.Subscriber) {
        cache.withLock { cache in
            if cache.count >= Self.maximumCachedCount { cache.removeAll(keepingCapacity: true) }
            cache[subscriber] = entry
        }
    }
}
