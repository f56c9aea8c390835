package import Envelope
package import StatusCrypto
package import Store
import Synchronization

/// Every topic the server listens on: its personal and its partitioned topic, and both query topics of each registered client.
///
/// Topics of a new registration are added before its reply is published; those of a client go when its last installation does, because
/// each installation brings and takes its own entries (PROTOCOL.md §2 and §7).
package final class TopicDirectory: Sendable {
    /// Messages on these are encrypted to the server's key.
    private let own: [Topic]
    private let table: Mutex<TopicTable>

    /// With a table that is there already.
    package init(serverKey: PublicKey, table: TopicTable) {
        own = [TopicName.personal(serverKey).topic, TopicName.partitioned(serverKey).topic]
        self.table = Mutex(table)
    }

    /// Loads the topics of all registrations; about 0.2 s for a million.
    ///
    /// - Throws: `StoreError` when they cannot be read.
    package convenience init(serverKey: PublicKey, store: any PushStore) async throws {
        let empty = TopicTable(minimumCapacity: 2 * (try await store.registrationCount()))
        let loaded = try await store.reduceLiveTopics(into: empty) { table, registration, topics in
            table.insert(.init(registration: registration, isPrefixed: false), topic: topics.plain)
            table.insert(.init(registration: registration, isPrefixed: true), topic: topics.prefixed)
        }
        self.init(serverKey: serverKey, table: loaded)
    }

    /// Whether the message could be for us; cheap enough to be asked for all of a shard's traffic.
    package func wants(_ topic: Topic) -> Bool {
        own.contains(topic) || table.withLock { $0.contains(topic.rawValue) }
    }

    /// The owners of the keys that a message on a topic may be encrypted with.
    struct Addressees: Sendable {
        /// The server's, on its own topics.
        var isIdentity = false
        /// The clients whose query topic this may be.
        var subscribers: [TopicTable.Subscriber] = []
    }

    /// - Returns: The addressees, or nil for a topic without subscribers.
    func addressees(of contentTopic: String) -> Addressees? {
        guard let topic = Topic(contentTopic: contentTopic) else { return nil }
        let isIdentity = own.contains(topic)
        let subscribers = table.withLock { $0.subscribers(of: topic.rawValue) }
        return isIdentity || !subscribers.isEmpty ? Addressees(isIdentity: isIdentity, subscribers: subscribers) : nil
    }

    package func add(registration: Int64, topics: QueryTopics) {
        table.withLock { table in
            table.insert(.init(registration: registration, isPrefixed: false), topic: topics.plain)
            table.insert(.init(registration: registration, isPrefixed: true), topic: topics.prefixed)
        }
    }

    package func remove(registration: Int64, topics: QueryTopics) {
        table.withLock { table in
            table.remove(.init(registration: registration, isPrefixed: false), topic: topics.plain)
            table.remove(.init(registration: registration, isPrefixed: true), topic: topics.prefixed)
        }
    }

    /// Takes in registrations that were put back, or unregistered, by others than the engine.
    package func add(_ registrations: [ChangedRegistration]) {
        for changed in registrations { add(registration: changed.registration, topics: changed.topics) }
    }

    /// Their owners may be registering anew at the same moment, and the engine may have heard of that first. So the store is asked
    /// afterwards: whoever is live then stays.
    package func remove(_ registrations: [ChangedRegistration], unlessLiveIn store: any PushStore) async {
        for changed in registrations { remove(registration: changed.registration, topics: changed.topics) }
        // A topic too many costs a futile decryption now and then; one too few loses messages.
        add((try? await store.liveTopics(of: registrations.map(\.registration))) ?? registrations)
    }

    /// Query topics in the directory, two for each registration.
    package var queryTopicCount: Int { table.withLock { $0.count } }
}

extension QueryTopics {
    /// The 4-byte topics of both forms of a client's query topic.
    package init(keyHash: Digest64) {
        self.init(
            plain: TopicName.query(keyHash, .plain).topic.rawValue,
            prefixed: TopicName.query(keyHash, .prefixed).topic.rawValue)
    }
}
