import Bytes
import Envelope
import PushClient
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The parts of golden vectors 08, "main flow", that a client needs.
struct Golden: Decodable {
    let keys: [Key]
    /// The first world. The second one is about segments.
    private let mainFlow: World

    private enum CodingKeys: CodingKey {
        case keys, worlds
    }

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        keys = try container.decode([Key].self, forKey: .keys)
        var worlds = try container.nestedUnkeyedContainer(forKey: .worlds)
        mainFlow = try worlds.decode(World.self)
    }

    struct Key: Decodable {
        let name: String
        let privateKey: HexBytes

        private enum CodingKeys: String, CodingKey {
            case name
            case privateKey = "private_key"
        }
    }

    struct World: Decodable {
        let serverPublicKey: HexBytes
        let steps: [Step]

        private enum CodingKeys: String, CodingKey {
            case steps
            case serverPublicKey = "server_public_key"
        }
    }

    struct Step: Decodable {
        let note: String
        let `in`: Message
        let responses: [Message]
        let registration: HexBytes?
        let requestID: HexBytes?

        private enum CodingKeys: String, CodingKey {
            case note, `in`, responses
            case registration = "registration_protobuf"
            case requestID = "expected_request_id"
        }
    }

    struct Message: Decodable {
        let contentTopic: String
        let payload: Base64Bytes
        let pubsubTopic: String
        let timestamp: Int64
        let version: UInt32
        let decoded: Decoded

        var envelope: WakuEnvelope {
            var message = WakuMessage()
            message.payload = payload.bytes
            message.contentTopic = contentTopic
            message.version = version
            message.timestamp = timestamp
            return WakuEnvelope(pubsubTopic: pubsubTopic, message: message)
        }
    }

    struct Decoded: Decodable {
        let signer: String
        let payload: HexBytes
        let messageID: HexBytes
        let applicationMetadata: HexBytes

        private enum CodingKeys: String, CodingKey {
            case payload
            case applicationMetadata = "application_metadata"
            case signer = "app_signer"
            case messageID = "message_id"
        }
    }

    static func load() throws -> Golden { try Vectors.load("08_e2e") }

    var server: StatusCrypto.PublicKey { get throws { try StatusCrypto.PublicKey(uncompressed: mainFlow.serverPublicKey.bytes) } }
    var steps: [Step] { mainFlow.steps }

    func key(_ name: String) throws -> PrivateKey {
        let bytes = try #require(keys.first { $0.name == name }?.privateKey.bytes)
        return try PrivateKey(try #require(FixedBytes<32>(bytes)))
    }

    func step(_ note: String) throws -> Step {
        try #require(steps.first { $0.note.hasPrefix(note) })
    }
}

/// A generator that returns the given bytes, as `bytes` and `fixedBytes` draw them, and then random ones.
struct ScriptedRandom: RandomNumberGenerator {
    private var script: [UInt8]
    private var rest = SecureRandom()

    init(_ script: some Sequence<UInt8>) {
        self.script = Array(script)
    }

    mutating func next() -> UInt64 {
        guard !script.isEmpty else { return rest.next() }
        let word = script.prefix(8)
        script.removeFirst(word.count)
        return word.reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
