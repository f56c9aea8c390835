import Bytes
import Envelope
import Logging
import StatusCrypto
import Store
import Synchronization
import Tasks
import Workers

/// The symmetric keys of query topics. A key is derived and stored after its owner's registration or, under load, when the first message
/// arrives on its topic.
///
/// A derivation takes a core about 18 ms (PBKDF2 with 65,356 iterations, PROTOCOL.md §2), so untrusted clients could use up seconds with a
/// few hundred messages on unused topics. Therefore derivations run outside the pipeline, on two threads with low priority.
final class TopicKeys: Sendable {
    /// What is known about a topic's key.
    enum Entry: Sendable {
        case known(SymmetricKey)
        /// The key was not derived yet for any of the owner's installations, which share the topic.
        case notDerived(keyHash: Digest64)
        /// No registration has the topic.
        case ownerless
    }

    /// Entries in memory take about 100 bytes each. A full cache is emptied, and its entries are read from the store again.
    private static let maximumCachedCount = 20_000
    /// Next to a busy thread for each core, a single thread of low priority takes 3 s for the first queries about five owners, and their
    /// senders give up.
    private static let threadCount = 2

    private let store: any EngineStore
    /// The entries by registration row. An owner's installations have the same key hash, but reading it from the store takes 60 µs a
    /// message. The store never reuses an installation's row.
    private let cache = Mutex<[TopicTable.Subscriber: Entry]>([:])
    private let threads = WorkerPool(name: "topic-keys", threadCount: threadCount)
    private let compute: @Sendable (TopicName) -> SymmetricKey

    init(store: any EngineStore, derive: @escaping @Sendable (TopicName) -> SymmetricKey) {
        self.store = store
        compute = derive
    }

    /// The entry in memory, or nil if it was never loaded, or was evicted.
    subscript(subscriber: TopicTable.Subscriber) -> Entry? {
        cache.withLock { $0[subscriber] }
    }

    /// The keys to try on a message on a query topic.
    struct Candidates: Sendable {
        /// The derived keys. An owner's installations have the same key, which is listed only once.
        var keys: [SymmetricKey] = []
        /// The first topic whose key is not derived, or nil if all are. When that key is derived, the message is opened again, and a
        /// further missing key is found.
        var missing: TopicKeyQueue.Topic?
    }

    /// Returns the keys that a message on the topic of these subscribers may be encrypted with.
    ///
    /// - Returns: nil if an entry is not in memory, because it was never loaded or was evicted.
    func candidates(of subscribers: [TopicTable.Subscriber]) -> Candidates? {
        var candidates = Candidates()
        // Everyone can derive these keys from the owner's public key, so copying the bytes doesn't reveal a secret.
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

    /// Loads the entries that are not in memory, in a single read.
    ///
    /// - Throws: `StoreError` or `CancellationError` if the read fails.
    func load(_ subscribers: [TopicTable.Subscriber]) async throws {
        let missing = cache.withLock { cache in subscribers.filter { cache[$0] == nil } }
        guard !missing.isEmpty else { return }
        for (subscriber, entry) in zip(missing, try await read(missing)) { keep(entry, of: subscriber) }
    }

    /// Loads a key into memory. If the store does not have it, derives and saves it.
    ///
    /// - Throws: `StoreError` if the key could not be saved, but then it is in memory. `CancellationError` if the task was cancelled before
    ///   the key was derived.
    func derive(_ subscriber: TopicTable.Subscriber, ownedBy keyHash: Digest64) async throws {
        if case .known = self[subscriber] { return }
        if case .known(let key)? = try? await read([subscriber]).first { return keep(.known(key), of: subscriber) }
        let name = TopicName.query(keyHash, subscriber.isPrefixed ? .prefixed : .plain)
        let key = try await threads.run { [compute] in compute(name) }
        // The database is as secret as the key file, and mode 0600 like it.
        let bytes = key.withExposedBytes { FixedBytes<32>($0) ?? FixedBytes() }
        keep(.known(key), of: subscriber)
        try await store.saveTopicKey(bytes, keyHash: keyHash, prefixed: subscriber.isPrefixed)
    }

    /// Derives the keys that messages in the journal wait for, and those of new registrations, until the task is cancelled. The next start
    /// re-reads the messages that still wait.
    func derive(for admission: Admission, logger: Logger) async {
        await withDiscardingTaskGroup { group in
            for _ in 0..<Self.threadCount { group.addTask { await self.deriveNext(for: admission, logger: logger) } }
        }
    }

    @concurrent
    private func deriveNext(for admission: Admission, logger: Logger) async {
        while !Task.isCancelled, let work = await admission.wait(for: { $0.startDerivation() }) {
            do {
                switch work {
                case .topic(let topic): try await derive(topic.subscriber, ownedBy: topic.keyHash)
                case .advance(let subscriber): try await deriveInAdvance(subscriber)
                }
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("saving a derived topic key failed; kept in memory only", metadata: ["error": "\(error)"])
            }
            if case .topic(let topic) = work { admission.update { $0.finishTopic(topic) } }
        }
    }

    /// Derives a key unless the store has it: other installations of the owner have the same.
    private func deriveInAdvance(_ subscriber: TopicTable.Subscriber) async throws {
        try await load([subscriber])
        guard case .notDerived(let keyHash) = self[subscriber] else { return }
        try await derive(subscriber, ownedBy: keyHash)
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
