import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// A server whose store is away. What is recorded waits, whatever it is and however long.
@Suite(.safetyNet) struct AwayTests {
    private let harness: Harness
    private let disk: FaultyDisk
    private let alice: ProtocolClient
    private let bob: ProtocolClient

    init() throws {
        harness = try Harness()
        disk = try FaultyDisk(database: harness.database)
        (alice, bob) = (ProtocolClient(server: harness.server), ProtocolClient(server: harness.server))
    }

    /// Runs a server whose store has recorded messages and is away before they are decided.
    private func withAwayStore(
        _ messages: [WakuEnvelope], drainLimit: Duration = .zero, _ body: @escaping @Sendable (Harness.Running) async throws -> Void
    ) async throws {
        let prepare = { (store: any PushStore) in
            _ = try await store.record(messages.map { (hash: $0.hash, envelope: $0) }, at: harness.wallClock.now)
            disk.fail(.write, with: .full, first: 1)
        }
        try await harness.withServer(
            maximumIntakeCount: 8, drainLimit: drainLimit, prepare: prepare
        ) { server in
            defer { disk.heal() }
            await harness.log.wait { $0.contains("the store cannot be written") }
            await harness.clock.sleepers(dueIn: .seconds(1))
            try await body(server)
        }
    }

    /// Ends the fault, and returns once the next probe has succeeded.
    private func heal() async {
        disk.heal()
        await harness.clock.sleepers(dueIn: .seconds(1))
        harness.clock.advance(by: .seconds(1))
        await harness.log.wait { $0.contains("the store can be written again") }
    }

    @Test func `messages leave the intake, and each is decided once the store is back`() async throws {
        let clients = (1...30).map { _ in ProtocolClient(server: harness.server) }
        try await withAwayStore(clients.map { try $0.envelope($0.registration()) }) { [self] server in
            await server.engine.intake.waitForCapacity()
            await heal()
            for client in clients {
                let response = try await client.registrationResponse(1, from: harness)
                #expect(response.success)
            }
        }
    }

    @Test func `a shutdown does not wait for undecided messages`() async throws {
        // The clock stands still, so a wait for the drain limit would not end.
        try await withAwayStore([alice.envelope(alice.registration())], drainLimit: .seconds(10)) { _ in }
        #expect(harness.replies.all.isEmpty)
        try await harness.withServer { _ in
            let response = try await alice.registrationResponse(1, from: harness)
            #expect(response.success)
        }
    }

    @Test(arguments: [(hours: 24, replies: 3), (hours: 25, replies: 1)])
    func `after a day away queries and push requests are too old, and registrations are not`(hours: Int, replies: Int) async throws {
        try await harness.register([bob])
        let messages = [
            try alice.envelope(alice.registration()), try alice.envelope(alice.request([alice.notification(to: bob)])),
            try alice.envelope(queryFor: [bob.keyHash], onTopicOf: bob.keyHash),
        ]
        try await withAwayStore(messages) { [self] server in
            harness.wallClock.advance(by: .seconds(hours * 3_600))
            await heal()
            await harness.replies.wait(for: replies)
            await server.engine.waitUntilIdle()
        }
        #expect(harness.replies.all.count == replies)
    }

    @Test func `a version that waited is refused if a newer one was decided meanwhile`() async throws {
        try await withAwayStore([alice.envelope(alice.registration(version: 1))]) { [self] server in
            disk.heal()
            try await server.store.apply(at: harness.wallClock.now) { batch in
                batch.register(
                    Registration(keyHash: alice.keyHash, content: alice.registration(version: 2), plaintextDigest: Digest32()),
                    topics: QueryTopics(keyHash: alice.keyHash))
            }
            await heal()
            #expect(try await alice.registrationResponse(1, from: harness).error == .versionMismatch)
        }
    }

    @Test func `a message whose commit seemed to fail and was durable gets its stored reply`() async throws {
        let message = try alice.envelope(alice.registration())
        try await withAwayStore([message]) { [self] server in
            disk.heal()
            let row = try #require(try await server.store.unfinishedRows().undecided.first)
            var response = PushNotificationRegistrationResponse()
            response.success = true
            let reply = Reply(
                type: .pushNotificationRegistrationResponse, payload: response.encoded(), recipient: alice.key.publicKey.compressed,
                pubsubTopic: message.pubsubTopic, statusMessageID: nil, installationID: nil)
            try await server.store.apply(at: harness.wallClock.now) { $0.decide(row, as: .answered(reply)) }
            await heal()
            #expect(try await alice.registrationResponse(1, from: harness).success)
            await server.engine.waitUntilIdle()
        }
        // The reply is marked, so no restart publishes it again.
        try await harness.withServer { await $0.engine.waitUntilIdle() }
        #expect(harness.replyCount(to: alice) == 1)
    }
}
