import Bytes
import Envelope
import Foundation
import HTTPClient
import StatusCrypto
import TestSupport
import Testing
import Wire

/// Hostile messages. The server sends no reply to them and keeps running.
@Suite(.fewAtATime)
struct HostileInputTests {
    @Test(arguments: TestDatabase.allCases)
    func `a message that is not for the server is dropped without a reply, and the next client is served`(
        database: TestDatabase
    ) async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder(), on: database)
        let network = Network(server)
        let key = try serverKey(of: server)
        let alice = ProtocolClient(server: key)
        try await network.publish(alice.envelope(alice.registration()))
        #expect(try await registrationResponse(to: alice, from: network).success)

        let corpus = try corpus(for: key, registered: alice)
        for envelope in corpus { try await network.publish(envelope) }
        try await network.waitForDecisions(1 + corpus.filter(\.isReadable).count)

        // The network carries no messages except ours.
        let said = try await network.take()
        let ours = Set(corpus.map(\.hash))
        #expect(said.filter { !ours.contains($0.hash) }.isEmpty)
        let bob = ProtocolClient(server: key)
        try await network.publish(bob.envelope(bob.registration()))
        #expect(try await registrationResponse(to: bob, from: network).success)
        #expect(await server.terminate() == 0)
    }

    /// Returns hostile envelopes on all topics of the server: random bytes, other clients' envelopes, wrong keys, truncated messages and
    /// the largest possible payload.
    private func corpus(for server: PublicKey, registered alice: ProtocolClient) throws -> [WakuEnvelope] {
        let mallory = ProtocolClient(server: server)
        var random = SystemRandomNumberGenerator()
        let topics = [
            TopicName.personal(server), .partitioned(server), .query(alice.keyHash, .plain), .query(alice.keyHash, .prefixed),
        ].map(\.topic)
        var corpus: [WakuEnvelope] = []

        for topic in topics {
            for byteCount in [1, 27, 28, 29, 113, 114, 300] {
                corpus.append(mallory.wrap(random.bytes(byteCount), topic: topic))
            }
        }
        corpus.append(mallory.wrap([4] + random.bytes(1 << 20 - 200), topic: topics[0]))

        // The message is for another server, but on this server's topic.
        let other = ProtocolClient(server: mallory.key.publicKey)
        corpus.append(mallory.wrap(try other.envelope(other.registration()).message.payload, topic: topics[0]))
        // The message is encrypted with the key of another topic.
        let query = try mallory.envelope(queryFor: [alice.keyHash], onTopicOf: mallory.keyHash)
        corpus.append(mallory.wrap(query.message.payload, topic: topics[2]))

        // These are encrypted to the server, but have no metadata, no signature, an unknown type or an invalid payload.
        var sealing = SecureRandom()
        for data in [[], [0xFF], random.bytes(500), ApplicationMetadataMessage().encoded()] {
            corpus.append(
                mallory.wrap(try RFC26.sealAsymmetric(data, to: server, signer: mallory.key, using: &sealing), topic: topics[1]))
        }
        corpus.append(try mallory.toServer([1, 2, 3], type: MessageType(rawValue: 99), topic: .personal(server)))
        corpus.append(try mallory.toServer(random.bytes(80), type: .pushNotificationRegistration, topic: .personal(server)))
        corpus.append(try mallory.toServer(random.bytes(80), type: .pushNotificationRegistrationResponse, topic: .personal(server)))
        corpus.append(try mallory.toServer([0x0A, 0xFF], type: .pushNotificationQuery, topic: .partitioned(server)))
        corpus.append(try mallory.toServer([0x0A, 0xFF], type: .pushNotificationRequest, topic: .partitioned(server)))
        // A request has no message id, and a query names an unknown owner.
        corpus.append(try mallory.envelope(PushNotificationRequest()))
        var nobody = PushNotificationQuery()
        nobody.publicKeys = [mallory.keyHash.bytes, [1]]
        corpus.append(try mallory.toServer(nobody.encoded(), type: .pushNotificationQuery, topic: .partitioned(server)))

        // A valid registration is cut short.
        let payload = try mallory.envelope(mallory.registration()).message.payload
        for byteCount in stride(from: 1, to: payload.count, by: 7) {
            corpus.append(mallory.wrap(Array(payload[..<byteCount]), topic: topics[0]))
        }
        // The payload has another version.
        var version2 = mallory.wrap(payload, topic: topics[0])
        version2.message.version = 2
        corpus.append(version2)
        return corpus
    }
}
