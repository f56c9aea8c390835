import Bytes
package import Envelope
package import StatusCrypto
package import Store
import Synchronization

/// The topics that the server subscribes to: its personal and its partitioned topic, and both query topics of each registration.
///
/// The engine adds a new registration's topics before it publishes the reply. Each installation has its own entries, so an owner's topics
/// remain until the last installation unregisters (PROTOCOL.md §2 and §7).
package final class TopicDirectory: Sendable {
    /// The personal and the partitioned topic, whose messages are encrypted with the server key.
    private let own: [Topic]
    private let table: Mutex<TopicTable>

    /// Creates a directory with an existing table of query topics.
    package init(serverKey: PublicKey, table: TopicTable) {
        own = [TopicName.personal(serverKey).topic, TopicName.partitioned(serverKey).topic]
        self.table = Mutex(table)
    }

    /// Creates a directory with the topics of all stored registrations, in about 0.2 s for a million.
    ///
    /// - Throws: `StoreError` if the topics cannot be read.
    package convenience init(serverKey: PublicKey, store: any EngineStore) async throws {
        let empty = TopicTable(minimumCapacity: 2 * (try await store.registrationCount()))
        let loaded = try await store.reduceLiveTopics(into: empty) { table, registration, topics in
            table.insert(.init(registration: registration, isPrefixed: false), topic: topics.plain)
            table.insert(.init(registration: registration, isPrefixed: true), topic: topics.prefixed)
        }
        self.init(serverKey: serverKey, table: loaded)
    }

    /// Returns whether the server subscribes to a topic. It is cheap enough for all traffic of a shard.
    package func wants(_ topic: Topic) -> Bool {
        own.contains(topic) || table.withLock { $0.contains(topic.rawValue) }
    }

    /// The keys that a message on a topic may be encrypted with.
    struct TopicCandidates: Sendable {
        /// Whether it may be the server key, because the topic is the server's personal or partitioned topic.
        var isIdentity = false
        /// The registrations whose query topic this may be.
        var subscribers: [TopicTable.Subscriber] = []
    }

    /// - Returns: nil for a topic that the server does not subscribe to.
    func addressees(of contentTopic: String) -> TopicCandidates? {
        guard let topic = Topic(contentTopic: contentTopic) else { return nil }
        let isIdentity = own.contains(topic)
        let subscribers = table.withLock { $0.subscribers(of: topic.rawValue) }
        return isIdentity || !subscribers.isEmpty ? TopicCandidates(isIdentity: isIdentity, subscribers: subscribers) : nil
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

    /// Adds the topics of registrations that an operator has restored, or that were registered with another server on the same database.
    package func add(_ registrations: [ChangedRegistration]) {
        for changed in registrations { add(registration: changed.registration, topics: changed.topics) }
    }

    /// Removes the topics of installations that were unregistered, except those that are registered again.
    ///
    /// An owner may register at the same moment, and the engine may add the topics before this function removes them. Therefore it reads
    /// the live registrations from the store afterwards, and adds their topics again.
    package func remove(_ registrations: [ChangedRegistration], unlessLiveIn store: any EngineStore) async {
        for changed in registrations { remove(registration: changed.registration, topics: changed.topics) }
        // If the read fails, all topics are added again. A superfluous topic costs a few decryptions, but a missing topic loses messages.
        add((try? await store.liveTopics(of: registrations.map(\.registration))) ?? registrations)
    }

    /// The number of query topics in the directory, two for each registration.
    package var queryTopicCount: Int { table.withLock { $0.count } }
}
