package import Bytes
package import StatusCrypto

/// A topic's name before it is hashed to 4 bytes (PROTOCOL.md §2).
package struct TopicName: Hashable, Sendable {
    /// The hashed text, from which the symmetric key is derived too.
    package let text: String

    /// Creates a name from its text.
    package init(_ text: String) { self.text = text }

    /// Returns a single key's topic, to which reference clients send registrations.
    package static func personal(_ key: PublicKey) -> TopicName {
        TopicName("contact-discovery-\(key.uncompressed)")
    }

    /// Returns the topic that a key shares, on average, with every 5,000th other key.
    package static func partitioned(_ key: PublicKey) -> TopicName {
        partitioned(partition(of: key))
    }

    private static func partitioned(_ partition: Int) -> TopicName {
        TopicName("contact-discovery-\(partition)")
    }

    private static let partitionCount = 5_000
    private static let partitionTopics = (0..<partitionCount).map { partitioned($0).topic }

    /// Returns the topic of ``partitioned(_:)`` without hashing its name, because every reply needs it.
    package static func partitionedTopic(of key: PublicKey) -> Topic {
        partitionTopics[partition(of: key)]
    }

    /// Returns the topic of queries about a client.
    package static func query(_ keyHash: Digest64, _ form: QueryForm) -> TopicName {
        TopicName(Hex.encode(keyHash.bytes, prefix: form.rawValue))
    }

    /// Returns the topic on which a client advertises its servers.
    package static func contactCode(_ key: PublicKey) -> TopicName {
        TopicName("0x\(key.uncompressed)-contact-code")
    }

    /// The two names for the query topic, the reference's and the specification's. They lead to different topics and keys.
    package enum QueryForm: String, CaseIterable, Sendable {
        /// The reference's form.
        case plain = ""
        /// The specification's form.
        case prefixed = "0x"
    }

    /// The topic: the name's 4 bytes.
    package var topic: Topic { Topic(name: text) }

    /// Derives the symmetric key of this topic: PBKDF2, 65,356 iterations, no salt.
    ///
    /// Keeps a core busy for about 18 ms. Derive the key on a separate thread, and keep it.
    package func deriveSymmetricKey() -> SymmetricKey {
        PBKDF2.sha256(password: text, iterations: 65_356)
    }

    /// X mod 5000.
    package static func partition(of key: PublicKey) -> Int {
        key.x.bytes.reduce(0) { ($0 << 8 | Int($1)) % partitionCount }
    }
}
