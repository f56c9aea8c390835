import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing

/// The topics of golden vectors 02.
@Suite(.safetyNet) struct TopicTests {
    struct File: Decodable {
        let keys: [KeyTopics]
        let publicChats: [NamedTopic]
        let parseContentTopic: [Parsing]

        enum CodingKeys: String, CodingKey {
            case keys
            case publicChats = "public_chats"
            case parseContentTopic = "parse_content_topic"
        }

        static func load() throws -> File { try Vectors.load("02_topics") }
    }

    struct KeyTopics: Decodable, Sendable, CustomTestStringConvertible {
        let key: String
        let public_key_uncompressed: HexBytes
        let partition: Int
        let personal_discovery: NamedTopic
        let partitioned: NamedTopic
        let contact_code: NamedTopic
        let negotiated: NamedTopic
        let query_chat: NamedTopic

        var testDescription: String { key }
    }

    struct NamedTopic: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let to_topic: String
        let content_topic: String
        let sym_key: HexBytes?

        var testDescription: String { name }

        func check(_ name: TopicName) {
            #expect(name.text == self.name)
            #expect(name.topic.contentTopic == content_topic)
            #expect(name.topic.rawValue == UInt32(to_topic, radix: 16))
            #expect(Topic(contentTopic: content_topic) == name.topic)
            if let sym_key { #expect(name.deriveSymmetricKey().exposed == sym_key.bytes) }
        }
    }

    struct Parsing: Decodable, Sendable, CustomTestStringConvertible {
        let content_topic: String
        let topic: String?

        var testDescription: String { content_topic }
    }

    @Test(arguments: try File.load().keys)
    func `a key's topics have the reference's names, topics and symmetric keys`(_ vector: KeyTopics) throws {
        let key = try PublicKey(uncompressed: vector.public_key_uncompressed.bytes)
        #expect(TopicName.partition(of: key) == vector.partition)
        vector.personal_discovery.check(.personal(key))
        vector.partitioned.check(.partitioned(key))
        vector.contact_code.check(.contactCode(key))
        vector.negotiated.check(TopicName(vector.negotiated.name))
        vector.query_chat.check(.query(key.hash, .plain))
    }

    @Test func `the specification's query topic has another name, topic and key`() {
        let hash = Digest64(repeating: 7)
        let plain = TopicName.query(hash, .plain)
        let prefixed = TopicName.query(hash, .prefixed)
        #expect(prefixed.text == "0x" + plain.text)
        #expect(prefixed.topic != plain.topic)
        #expect(prefixed.deriveSymmetricKey().exposed != plain.deriveSymmetricKey().exposed)
    }

    @Test(arguments: try File.load().publicChats)
    func `public chats have the reference's topics, also for empty and non-ASCII names`(_ vector: NamedTopic) {
        vector.check(TopicName(vector.name))
    }

    /// The reference accepts any number of digits. The server ignores a content topic that does not have the exact form (PROTOCOL.md §2).
    @Test(arguments: try File.load().parseContentTopic) func `only the exact form is a topic`(_ vector: Parsing) {
        let isExact = vector.content_topic.utf8.count == 24 && vector.topic != nil
        #expect(
            Topic(contentTopic: vector.content_topic) == (isExact ? vector.topic.flatMap { UInt32($0, radix: 16) } : nil).map(Topic.init))
    }

    @Test func `a wrong byte anywhere makes another topic or none`() {
        let exact = Array("/waku/1/0x01020304/rfc26".utf8)
        for index in exact.indices {
            var bytes = exact
            bytes[index] = UInt8(ascii: "f")
            let topic = Topic(contentTopic: String(decoding: bytes, as: UTF8.self))
            if bytes == exact {
                #expect(topic == Topic(rawValue: 0x0102_0304))
            } else if (10..<18).contains(index) {
                #expect(topic != nil && topic != Topic(rawValue: 0x0102_0304))
            } else {
                #expect(topic == nil)
            }
        }
    }
}
