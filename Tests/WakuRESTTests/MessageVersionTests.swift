import Bytes
import Envelope
import JSON
import TestSupport
import Testing
import WakuREST
import Wire

/// The labels of messages on the wire and in a node's JSON.
@Suite(.safetyNet) struct MessageVersionTests {
    struct File: Decodable {
        let versions: [Case]
    }

    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let version: UInt32
        let is_readable: Bool
        let pubsub_topic: String
        let protobuf: HexBytes
        let rest: String
        let hash: HexBytes

        var testDescription: String { name }
    }

    @Test(arguments: try Vectors.load("12_message_versions", as: File.self).versions)
    func `both forms of a message have its version, and the same hash as any other version`(vector: Case) throws {
        let message = try WakuMessage.decode(vector.protobuf.bytes)
        let envelope = WakuEnvelope(pubsubTopic: vector.pubsub_topic, message: message)
        #expect(message.version == vector.version && envelope.isReadable == vector.is_readable)
        #expect(envelope.hash.bytes == vector.hash.bytes)
        let json = try JSONReader.read(Array(vector.rest.utf8)) { reader throws(JSONError) in
            try MessageJSON(reading: &reader, as: .answer)
        }
        #expect(json.decoded() == message)
    }
}
