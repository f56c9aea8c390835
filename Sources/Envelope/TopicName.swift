package import StatusCrypto

/// What a topic is called before it is hashed to 4 bytes (PROTOCOL.md §2).
package struct TopicName: Hashable, Sendable {
    /// What is hashed, and the password of the symmetric key.
    package let text: String

    /// A name as it is hashed.
    package init(_ text: String) { self.text = text }

    /// Where a key alone is addressed: reference clients send registrations here.
    package static func personal(_ key: PublicKey) -> TopicName {
        TopicName("contact-discovery-\(key.uncompressed)")
    }

    /// Where a key is addressed together with one in 5,000 others.
    package static func partitioned(_ key: PublicKey) -> TopicName {
        partitioned(partition(of: key))
    }

    private static func partitioned(_ partition: Int) -> TopicName {
        TopicName("contact-discovery-\(partition)")
    }

    private static let partitionCount = 5_000
    private static let partitionTopics = (0..<partitionCount).map { partitioned($0).topic }

    /// The topic of ``partitioned(_:)``, without hashing its name: every reply needs it.
    package static func partitionedTopic(of key: PublicKey) -> Topic {
        partitionTopics[partition(of: key)]
    }

    /// Where a client's registrations are asked for.
    package static func query(_ keyHash: Digest64, _ form: QueryForm) -> TopicName {
        TopicName(Hex.encode(keyHash.bytes, prefix: form.rawValue))
    }

    /// Where a client advertises its servers.
    package static func contactCode(_ key: PublicKey) -> TopicName {
        TopicName("0x\(key.uncompressed)-contact-code")
    }

    /// Reference and specification name the query topic differently: other names, so other topics and other keys.
    package enum QueryForm: String, CaseIterable, Sendable {
        /// As the reference has it.
        case plain = ""
        /// As the specification has it.
        case prefixed = "0x"
    }

    /// The name's 4 bytes.
    package var topic: Topic { Topic(name: text) }

    /// Derives the key of what is encrypted symmetrically on this topic: PBKDF2, 65,356 iterations, no salt.
    ///
    /// Takes about 13 ms of a core: derive when the first message comes, on a lane of its own, and keep the key.
    package func deriveSymmetricKey() -> SymmetricKey {
        PBKDF2.sha256(password: text, iterations: 65_356)
    }

    /// X mod 5000.
    package static func partition(of key: PublicKey) -> Int {
        key.x.bytes.reduce(0) { ($0 << 8 | Int($1)) % partitionCount }
    }
}
