import Bytes
import Envelope
import TestSupport
import Testing
import Wire

/// The message hashes of golden vectors 10.
@Suite(.safetyNet) struct WakuEnvelopeTests {
    struct File: Decodable {
        let hashes: [Case]
    }

    struct Case: Decodable, Sendable, CustomTestStringConvertible {
        let name: String
        let pubsub_topic: String
        let content_topic: String
        let payload: HexBytes
        let meta: HexBytes
        let timestamp: Int64?
        let protobuf: HexBytes
        let hash: HexBytes

        var testDescription: String { name }
    }

    @Test(arguments: try Vectors.load("10_message_hash", as: File.self).hashes)
    func `the message hash is the reference's`(_ vector: Case) throws {
        let message = try WakuMessage.decode(vector.protobuf.bytes)
        #expect(message.contentTopic == vector.content_topic)
        #expect(message.payload == vector.payload.bytes)
        #expect(message.meta == vector.meta.bytes)
        #expect(message.timestamp == vector.timestamp)
        #expect(WakuEnvelope(pubsubTopic: vector.pubsub_topic, message: message).hash.bytes == vector.hash.bytes)
    }

    @Test func `the message hash does not cover version and ephemeral`() {
        var envelope = WakuEnvelope(pubsubTopic: "/waku/2/rs/16/32", message: WakuMessage())
        let hash = envelope.hash
        envelope.message.version = 1
        envelope.message.ephemeral = true
        #expect(envelope.hash == hash)
        envelope.message.payload = [1]
        #expect(envelope.hash != hash)
    }
}
