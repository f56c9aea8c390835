package import Bytes
import Envelope
import StatusCrypto

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
