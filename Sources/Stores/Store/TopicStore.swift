package import Bytes
import Envelope
import StatusCrypto

/// The query topics of registrations, and their keys.
package protocol TopicStore: Sendable {
    /// Folds over all live registrations' topics. For two million this takes less than a second.
    ///
    /// - Parameter update: Receives a registration's row and topics.
    func reduceLiveTopics<Result: Sendable>(
        into initial: Result, _ update: @Sendable (inout Result, _ registration: Int64, _ topics: QueryTopics) -> Void
    ) async throws -> Result

    /// Returns the topics of these registrations that are live.
    func liveTopics(of registrations: [Int64]) async throws -> [ChangedRegistration]

    /// Counts the registered installations.
    func registrationCount() async throws -> Int

    /// Returns the owners of query topics and the derived keys that are stored, in a single read for many topics.
    ///
    /// - Returns: The owner and each topic's key, or nil if the row does not exist. Tombstones have an owner too. A key is nil until it is
    ///   stored.
    func topicKeys(_ topics: [(registration: Int64, prefixed: Bool)]) async throws -> [(keyHash: Digest64, key: FixedBytes<32>?)?]

    /// Returns a query topic's derived key, or nil if none is stored.
    func topicKey(keyHash: Digest64, prefixed: Bool) async throws -> FixedBytes<32>?

    /// Stores a query topic's derived key, because deriving it takes 18 ms of PBKDF2.
    func saveTopicKey(_ key: FixedBytes<32>, keyHash: Digest64, prefixed: Bool) async throws
}

/// A client's query topic in its two forms, as 4-byte content topics (PROTOCOL.md §2).
package struct QueryTopics: Hashable, Sendable {
    package var plain: UInt32
    package var prefixed: UInt32

    package init(plain: UInt32, prefixed: UInt32) {
        self.plain = plain
        self.prefixed = prefixed
    }

    /// Creates a client's topics.
    package init(keyHash: Digest64) {
        self.init(
            plain: TopicName.query(keyHash, .plain).topic.rawValue,
            prefixed: TopicName.query(keyHash, .prefixed).topic.rawValue)
    }
}

/// A registration that was added or removed, with its topics.
package struct ChangedRegistration: Sendable, Hashable {
    /// The registration's row, which an installation keeps permanently.
    package var registration: Int64
    package var topics: QueryTopics

    package init(registration: Int64, topics: QueryTopics) {
        self.registration = registration
        self.topics = topics
    }
}
