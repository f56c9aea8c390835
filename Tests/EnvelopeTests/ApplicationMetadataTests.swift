import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The wrapping and the rules of golden vectors 05.
@Suite(.safetyNet) struct ApplicationMetadataTests {
    struct File: Decodable {
        let wraps: [Wrap]

        static func load() throws -> File { try Vectors.load("05_app_metadata") }
    }

    struct Wrap: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let type: Int32
        let payload: HexBytes
        let signature: HexBytes
        let signed_hash: HexBytes
        let signer: String
        let signer_private_key: HexBytes?
        let signer_public_key: HexBytes?
        let wrapped: HexBytes
        let message_id: HexBytes?

        var testDescription: String { "\(name), \(signer.isEmpty ? "unsigned" : signer)" }
    }

    @Test(arguments: try File.load().wraps.filter { !$0.signer.isEmpty })
    func `signed messages open to sender, type, payload and id`(_ vector: Wrap) throws {
        let message = try ApplicationMetadata.open(vector.wrapped.bytes)
        #expect(message.sender.uncompressed.bytes == vector.signer_public_key?.bytes)
        #expect(message.type == MessageType(rawValue: vector.type))
        #expect(message.payload == vector.payload.bytes)
        #expect(message.messageID.bytes == vector.message_id?.bytes)
    }

    @Test(arguments: try File.load().wraps.filter { !$0.signer.isEmpty })
    func `sealing gives the reference's bytes`(_ vector: Wrap) throws {
        let signer = try #require(vector.signer_private_key).privateKey()
        let type = MessageType(rawValue: vector.type)
        #expect(ApplicationMetadata.seal(vector.payload.bytes, type: type, signer: signer) == vector.wrapped.bytes)
        #expect(Keccak.keccak256(vector.payload.bytes).bytes == vector.signed_hash.bytes)
        #expect(try ApplicationMetadataMessage.decode(vector.wrapped.bytes).signature == vector.signature.bytes)
    }

    /// The reference would use the outer signer. PROTOCOL.md §5 does not.
    @Test(arguments: try File.load().wraps.filter(\.signer.isEmpty)) func `unsigned messages are dropped`(_ vector: Wrap) {
        #expect(throws: ApplicationMetadata.OpenError.unsigned) { try ApplicationMetadata.open(vector.wrapped.bytes) }
    }

    @Test func `the id is that of the received bytes, not of our encoding`() throws {
        let vector = try #require(try File.load().wraps.first)
        let unknownField: [UInt8] = [0x78, 0x01]
        let message = try ApplicationMetadata.open(vector.wrapped.bytes + unknownField)
        #expect(message.payload == vector.payload.bytes)
        #expect(message.messageID == Keccak.keccak256(message.sender.uncompressed.bytes + vector.wrapped.bytes + unknownField))
        #expect(message.messageID.bytes != vector.message_id?.bytes)
    }

    @Test func `cut at any byte, a message is dropped or is another one`() throws {
        let vector = try #require(try File.load().wraps.first)
        for count in vector.wrapped.bytes.indices {
            let message = try? ApplicationMetadata.open(Array(vector.wrapped.bytes.prefix(count)))
            #expect(message?.messageID.bytes != vector.message_id?.bytes || message == nil)
            // The signature is the first field. A cut message is valid only if the cut is between two fields behind it.
            if count < 67 { #expect(message == nil) }
        }
    }

    @Test func `a signature of the wrong size or with V out of range is invalid`() throws {
        let wrapped = try #require(try File.load().wraps.first).wrapped.bytes
        var message = try ApplicationMetadataMessage.decode(wrapped)
        let signature = message.signature
        #expect(try ApplicationMetadata.open(message.encoded()).payload == message.payload)
        let withoutV = Array(signature.dropLast())
        for invalid in [withoutV, signature + [0], withoutV + [2], withoutV + [27]] {
            message.signature = invalid
            #expect(throws: ApplicationMetadata.OpenError.unsigned) { try ApplicationMetadata.open(message.encoded()) }
        }
    }

    @Test func `bytes that are not protobuf are malformed`() throws {
        let wrapped = try #require(try File.load().wraps.first).wrapped.bytes
        _ = try ApplicationMetadata.open(wrapped)
        let error = #expect(throws: ApplicationMetadata.OpenError.self) { try ApplicationMetadata.open(wrapped + [0xFF]) }
        #expect(error != .unsigned)
    }
}
