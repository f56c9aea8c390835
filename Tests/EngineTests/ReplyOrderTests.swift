import Bytes
import Engine
import Envelope
import Logging
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

@testable import PostgreSQLStore

/// The order and time of a client's replies while the network is slow or down.
@Suite(.safetyNet) struct ReplyOrderTests {
    /// The number of concurrent publications.
    static let workerCount = 8

    let harness: Harness
    let alice: ProtocolClient
    let publisher = FailingPublisher()

    init() throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
    }

    @Test func `the reply to a new query is published next, whatever number of older replies waits`() async throws {
        try await harness.register([alice])
        let stranger = ProtocolClient(server: harness.server)
        let bob = ProtocolClient(server: harness.server)
        try await harness.withServer(publishing: publisher) { [harness, alice, publisher] server in
            publisher.answers.update { $0 = 0 }
            for _ in 1...50 {
                try await server.publish(stranger.envelope(stranger.request([stranger.notification(to: stranger)])))
            }
            await publisher.offered.wait(for: Self.workerCount)
            var query = PushNotificationQuery()
            query.publicKeys = [alice.keyHash.bytes]
            try await server.publish(
                bob.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(harness.server)))
            await server.engine.waitUntilDecided()
            publisher.answers.update { $0 = 1 }
            await publisher.offered.wait(for: Self.workerCount + 1)
            #expect(publisher.offered.all.map { bob.open($0) != nil } == Array(repeating: false, count: Self.workerCount) + [true])
            publisher.answers.update { $0 = .max }
            await server.engine.waitUntilIdle()
            #expect(harness.replies.all.count == 51)
        }
    }

    /// The client remembers every request, and takes any success for the response to its newest (PROTOCOL.md §7).
    @Test(arguments: [false, true])
    func `no late success follows a refusal, even after a restart`(isRestarted: Bool) async throws {
        publisher.fail(.max, with: .node(.unreachable("on purpose")))
        try await harness.withServer(publishing: publisher, drainLimit: .zero) { [self] server in
            try await server.publish(alice.envelope(alice.registration(version: 1)))
            await publisher.refused.wait(for: 1)
            var refused = alice.registration(version: 2)
            refused.grant[0] ^= 1
            try await server.publish(alice.envelope(refused))
            await server.engine.waitUntilDecided()
            if isRestarted { return }
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        if isRestarted { try await harness.withServer { server in await server.engine.waitUntilIdle() } }
        #expect(try successes() == [false])
        try await expectNothingLeft()
    }

    /// Runs a server that cannot publish beside another one, which acts before the first can publish again.
    private func publish(
        _ envelope: WakuEnvelope, whileOther act: @escaping @Sendable (PostgreSQLStore) async throws -> Void
    ) async throws {
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        let parameters = try PostgreSQLLocation(url: url).connection(password: nil, name: "test")
        let stores = try ["one", "two"].map { name in
            try PostgreSQLStore(
                parameters, identity: harness.server.compressed, sealingKeys: testSealingKeys, serverName: name,
                logger: quietLogger)
        }
        // The first server owns all messages, and knows the second.
        try await stores[1].stopReceiving()
        _ = try await stores[0].takePart()
        publisher.fail(.max, with: .node(.unreachable("on purpose")))
        try await harness.withServer(publishing: publisher, store: stores[0]) { [harness, publisher] server in
            try await server.publish(envelope)
            await publisher.refused.wait(for: 1)
            try await act(stores[1])
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        await stores[1].close()
    }

    @Test func `a reply that another server has superseded is not published`() async throws {
        try await publish(alice.envelope(alice.registration(version: 1))) { [harness, alice] other in
            let newer = Reply(
                type: .pushNotificationRegistrationResponse, payload: [], recipient: alice.key.publicKey.compressed, pubsubTopic: "",
                statusMessageID: nil, installationID: alice.registration().installationID)
            try await other.apply(at: harness.wallClock.now) { $0.supersede(newer, answering: .max) }
        }
        #expect(harness.replies.all.isEmpty)
    }

    /// What another server has published is looked up when it may have taken this server's messages, or may have superseded the reply.
    @Test(arguments: [(false, 0, 1), (false, 3, 1), (false, 4, 0), (true, 0, 0), (true, 4, 0)])
    func `a late reply that another server has published is not published again`(
        isToRegistration: Bool, seconds: Int, count: Int
    ) async throws {
        let request = alice.request([alice.notification(to: alice)])
        let envelope = try isToRegistration ? alice.envelope(alice.registration()) : alice.envelope(request)
        try await publish(envelope) { [harness] other in
            try await other.pool.perform(.writing) { $0.add("UPDATE message SET is_unfinished = false") }
            harness.wallClock.advance(by: .seconds(seconds))
        }
        #expect(harness.replies.all.count == count)
    }

    @Test func `no late success follows an INTERNAL_ERROR`() async throws {
        publisher.fail(.max, with: .node(.unreachable("on purpose")))
        try await harness.withServer(publishing: publisher) { [self] server in
            try await server.publish(alice.envelope(alice.registration(version: 1)))
            await publisher.refused.wait(for: 1)
            try harness.execute(sql: "CREATE TRIGGER fault BEFORE UPDATE ON message BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
            try await server.publish(alice.envelope(alice.registration(version: 2)))
            await harness.passAttempts {}
            await server.engine.waitUntilDecided()
            try harness.execute(sql: "DROP TRIGGER fault")
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        #expect(try successes() == [false])
        try await expectNothingLeft()
    }

    @Test func `another installation of the same key still gets its reply`() async throws {
        publisher.fail(.max, with: .node(.unreachable("on purpose")))
        var laptop = alice.registration()
        laptop.installationID = "another one"
        try await harness.withServer(publishing: publisher) { [self, laptop] server in
            try await server.publish(alice.envelope(alice.registration()))
            try await server.publish(alice.envelope(laptop))
            await server.engine.waitUntilDecided()
            publisher.fail(0)
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        #expect(try successes() == [true, true])
    }

    private func expectNothingLeft() async throws {
        try await harness.withStore { store in
            let left = try await store.unfinishedRows().unreplied
            #expect(left == [])
        }
    }

    private func successes() throws -> [Bool] {
        try harness.replies.all.compactMap { alice.open($0) }.map { try PushNotificationRegistrationResponse.decode($0.payload).success }
    }
}
