import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import Wire

/// Anybody can buy 13 ms of PBKDF2 with one message on a query topic that was not used yet.
@Suite(.timeLimit(.minutes(2)))
struct JunkFloodTests {
    private static let topicCount = 30

    @Test func `junk on many query topics delays nobody else, and leaves the topics usable`() async throws {
        let harness = try Harness()
        let owners = (0..<Self.topicCount).map { _ in ProtocolClient(server: harness.server) }
        try await harness.withStore { store in
            try await store.commit { transaction in
                for owner in owners {
                    let registration = Registration(
                        keyHash: owner.keyHash, content: owner.registration(), plaintextDigest: Digest32())
                    try transaction.register(
                        registration, replacing: nil, topics: QueryTopics(keyHash: owner.keyHash), at: harness.wallTime)
                }
            }
        }
        try await harness.withServer { [harness] server in
            let bystander = ProtocolClient(server: harness.server)
            let junk = owners.map { $0.wrap([UInt8](repeating: 0x5A, count: 400), topic: TopicName.query($0.keyHash, .plain).topic) }
            try await server.engine.receive(junk + [bystander.envelope(bystander.registration())], origin: .live)
            _ = try await bystander.reply(1, from: harness)
            #expect(try await Self.derivedCount(of: owners, in: server.store) < owners.count / 2)

            // Behind the junk, in the lane of those that need a key.
            try await server.publish(bystander.envelope(queryFor: [owners[0].keyHash], onTopicOf: owners[29].keyHash))
            let reply = try await bystander.reply(2, from: harness)
            #expect(try PushNotificationQueryResponse.decode(reply.payload).success)
            #expect(try await Self.derivedCount(of: owners, in: server.store) == owners.count)
        }
    }

    private static func derivedCount(of owners: [ProtocolClient], in store: PushStore) async throws -> Int {
        var count = 0
        for owner in owners where try await store.topicKey(keyHash: owner.keyHash, prefixed: false) != nil { count += 1 }
        return count
    }
}
