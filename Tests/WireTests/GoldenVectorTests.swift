import Bytes
import TestSupport
import Testing
import Wire

/// The messages of the reference implementation, and its results for unusual bytes.
@Suite(.safetyNet) struct GoldenVectorTests {
    @Test(arguments: try WireVectors.load().encode)
    func `a message is read from the reference's bytes and written as the same bytes`(vector: WireVectors.Encoding) throws {
        let message = try vector.message.type.decode(vector.hex.bytes)
        try expect(message, equals: vector.json)
        // Among WakuMessage's optional fields, only the timestamp keeps its presence.
        if !vector.hasExplicitDefaults { #expect(message.encoded() == vector.hex.bytes) }
        #expect(try vector.message.type.decode(message.encoded()).encoded() == message.encoded())
    }

    @Test(arguments: try WireVectors.load().decode)
    func `unusual bytes are accepted or rejected as by the reference`(vector: WireVectors.Decoding) throws {
        if let json = vector.json {
            let message = try vector.message.type.decode(vector.hex.bytes)
            try expect(message, equals: json)
        } else {
            #expect(throws: WireError.self) { try vector.message.type.decode(vector.hex.bytes) }
        }
    }

    @Test(arguments: try Vectors.load("10_message_hash", as: WakuMessageVectors.self).hashes)
    func `a WakuMessage of the reference is read`(vector: WakuMessageVectors.Hash) throws {
        let message = try WakuMessage.decode(vector.protobuf.bytes)
        #expect(message.payload == vector.payload.bytes)
        #expect(message.contentTopic == vector.content_topic)
        #expect(message.timestamp == vector.timestamp)
        #expect(message.meta == vector.meta.bytes)
        #expect(try WakuMessage.decode(message.encoded()) == message)
    }

    /// Compares with a message of the same type that was built from JSON.
    private func expect<Message: FilledFromFields>(_ message: Message, equals json: JSONFields) throws {
        var fields = json
        if let contactCode = message as? ContactCodeAdvertisement {
            fields.replaceObject("chat_identity", with: contactCode.chatIdentity)
        }
        #expect(message == (try Message(fields: &fields)))
        #expect(fields.unread.subtracting(["rate_limit_proof"]).isEmpty)
    }
}

/// The vectors of `06_protobuf.json`.
struct WireVectors: Decodable {
    let encode: [Encoding]
    let decode: [Decoding]

    static func load() throws -> WireVectors {
        try Vectors.load("06_protobuf")
    }

    struct Encoding: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let message: MessageKind
        let hex: HexBytes
        let json: JSONFields

        var testDescription: String { "\(message.rawValue): \(name)" }

        /// Whether the vector is a WakuMessage with explicit default values, or with fields that we do not know.
        var hasExplicitDefaults: Bool {
            message == .wakuMessage && (name.hasPrefix("as status-go Post builds it") || name == "all fields")
        }
    }

    struct Decoding: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let message: MessageKind
        let hex: HexBytes
        /// The fields, or nil if the reference rejects the bytes.
        let json: JSONFields?

        var testDescription: String { "\(message.rawValue): \(name)" }
    }
}

/// The vectors of `10_message_hash.json`.
struct WakuMessageVectors: Decodable {
    let hashes: [Hash]

    struct Hash: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let payload: HexBytes
        let content_topic: String
        let meta: HexBytes
        let timestamp: Int64?
        let protobuf: HexBytes

        var testDescription: String { name }
    }
}
