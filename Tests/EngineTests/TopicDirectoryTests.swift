import Bytes
import Engine
import Envelope
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct TopicDirectoryTests {
    /// The server finds a token dead while its owner registers again. Both events update the directory, in either order.
    @Test(arguments: [false, true])
    func `the topics of a dead registration are removed unless it is live again`(isLiveAgain: Bool) async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withStore { store in
            let topics = QueryTopics(keyHash: alice.keyHash)
            let content = alice.registration()
            let registration = Registration(keyHash: alice.keyHash, content: content, plaintextDigest: Digest32())
            try await store.apply(at: harness.wallClock.now) { $0.register(registration, topics: topics) }
            let directory = try await TopicDirectory(serverKey: harness.server, store: store)
            let later = harness.wallClock.now.advanced(by: .seconds(1))
            var update = OutboxUpdate()
            update.tokens = [
                .unregister(
                    DeadToken(
                        token: content.deviceToken, type: .apn, apnTopic: content.apnTopic, attemptedAt: later, reason: .apnsUnregistered,
                        route: "")
                )
            ]
            let gone = try await store.update(update, at: later).unregistered
            #expect(gone.count == 1)
            if isLiveAgain { try await store.apply(at: later) { $0.register(registration, topics: topics) } }
            await directory.remove(gone, unlessLiveIn: store)
            for form in [TopicName.QueryForm.plain, .prefixed] {
                #expect(directory.wants(TopicName.query(alice.keyHash, form).topic) == isLiveAgain)
            }
        }
    }

    @Test func `topics whose registrations cannot be read stay, and go once they can`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        let gone = ChangedRegistration(registration: 1, topics: QueryTopics(keyHash: alice.keyHash))
        let topic = TopicName.query(alice.keyHash, .plain).topic
        let closed = try harness.openStore()
        await closed.close()
        try await harness.withStore { store in
            let directory = try await TopicDirectory(serverKey: harness.server, store: store)
            directory.add([gone])
            for _ in 1...2 {
                await directory.remove([gone], unlessLiveIn: closed)
                #expect(directory.wants(topic) && directory.queryTopicCount == 2)
            }
            await directory.remove([gone], unlessLiveIn: store)
            #expect(!directory.wants(topic) && directory.queryTopicCount == 0)
        }
    }

    @Test func `a server that shares its database with no other one looks up no topics`() async throws {
        try await Harness().withServer { world in
            let isDiscovered = await world.engine.intake.discover {
                Issue.record("the topics of a poll were collected")
                return []
            }
            #expect(isDiscovered)
        }
    }
}
