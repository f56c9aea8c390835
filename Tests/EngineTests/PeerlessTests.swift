import Bytes
import Engine
import Envelope
import Logging
import PostgreSQLStore
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// Replies while no node has peers, and after it.
@Suite(.safetyNet) struct PeerlessTests {
    let harness: Harness
    let alice: ProtocolClient
    let bob: ProtocolClient
    let publisher = FailingPublisher()

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    /// Sends a registration, a query for it and a push request.
    func sendAll(to server: Harness.Running) async throws {
        try await server.publish(alice.envelope(alice.registration()))
        await server.engine.waitUntilDecided()
        try await server.publish(query())
        try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
        await server.engine.waitUntilDecided()
    }

    func query() throws -> WakuEnvelope {
        var query = PushNotificationQuery()
        query.publicKeys = [alice.keyHash.bytes]
        return try bob.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(harness.server))
    }

    /// The types of the replies so far.
    var types: [MessageType] {
        harness.replies.all.compactMap { (alice.open($0) ?? bob.open($0))?.type }
    }

    @Test(arguments: [Duration.seconds(20), .seconds(300)])
    func `replies of a time without peers arrive after it, those to registrations only while their clients wait`(
        time: Duration
    ) async throws {
        publisher.fail(.max, with: .noPeers)
        try await harness.withServer(publishing: publisher) { [self] server in
            try await sendAll(to: server)
            await publisher.refused.wait(for: 1)
            // The access token that the query's reply contains changes meanwhile, without a reply to its registration.
            harness.advance(by: time)
            publisher.fail(0)
            server.engine.intake.networkReturned()
            await server.engine.waitUntilIdle()
            #expect(try await server.store.unfinishedRows().undecided == [])
        }
        let late: Set<MessageType> = [.pushNotificationQueryResponse, .pushNotificationResponse]
        #expect(types.count == (time < .seconds(25) ? 3 : 2))
        #expect(Set(types) == (time < .seconds(25) ? late.union([.pushNotificationRegistrationResponse]) : late))
        try await expectNothingLeft()
    }

    @Test func `a query that had to wait is decided anew`() async throws {
        try await harness.register([alice])
        publisher.fail(.max, with: .noPeers)
        try await harness.withServer(publishing: publisher) { [self] server in
            try await server.publish(query())
            await publisher.refused.wait(for: 1)
            await server.engine.waitUntilDecided()
            var unregistration = alice.registration(version: 2)
            unregistration.unregister = true
            try await server.publish(alice.envelope(unregistration))
            await server.engine.waitUntilDecided()
            harness.advance(by: .seconds(300))
            publisher.fail(0)
            server.engine.intake.networkReturned()
            await server.engine.waitUntilIdle()
        }
        // The owner is not registered any more, so the query has no reply, or an empty one.
        let responses = try harness.replies.all.compactMap { bob.open($0) }.map { try PushNotificationQueryResponse.decode($0.payload) }
        #expect(responses.flatMap(\.info).isEmpty)
        try await expectNothingLeft()
    }

    @Test func `at a shutdown, replies without a node that has peers become rows at once, and leave after the next start`() async throws {
        publisher.fail(.max, with: .noPeers)
        try await harness.withServer(publishing: publisher) { [self] server in
            try await sendAll(to: server)
            await publisher.refused.wait(for: 1)
        }
        #expect(types == [])
        #expect(harness.clock.now.offset == .zero)
        try await harness.withServer { server in await server.engine.waitUntilIdle() }
        #expect(Set(types).count == 3)
        try await expectNothingLeft()
    }

    @Test func `another server on the database publishes the replies of a server without peers that is stopped`() async throws {
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        let parameters = try PostgreSQLLocation(url: url).connection(password: nil, name: "test")
        let stores = try ["one", "two"].map { name in
            try PostgreSQLStore(
                parameters, identity: harness.server.compressed, sealingKeys: testSealingKeys, serverName: name, logger: quietLogger)
        }
        // The first server owns all messages, and knows the second.
        try await stores[1].stopReceiving()
        _ = try await stores[0].takePart()
        publisher.fail(.max, with: .noPeers)
        try await harness.withServer(publishing: publisher, store: stores[0]) { [self] server in
            try await sendAll(to: server)
            await publisher.refused.wait(for: 1)
        }
        #expect(types == [])
        try await harness.withServer(store: stores[1]) { [self] server in
            server.engine.resume(try await stores[1].takePart(isReceiving: true))
            await harness.replies.wait(for: 3)
            await server.engine.waitUntilIdle()
        }
        #expect(Set(types).count == 3)
    }

    // MARK: Replies that were published in vain

    @Test func `a reply that a node without peers accepted is published again, in a fresh envelope`() async throws {
        try await harness.withServer(publishing: publisher) { [self] server in
            try await sendAll(to: server)
            await server.engine.waitUntilIdle()
            for (index, reportLoss) in publisher.losses.all.enumerated() {
                reportLoss()
                await server.engine.waitUntilIdle()
                #expect(harness.replies.all.count == 4 + index)
            }
            #expect(Array(types.prefix(3)) == Array(types.suffix(3)))
            #expect(Set(harness.replies.all.map(\.hash)).count == 6)
        }
        try await expectNothingLeft()
    }

    @Test func `an echo is never taken back`() async throws {
        try await harness.register([alice])
        try await harness.withServer(publishing: publisher, echoesReplies: true) { [self] server in
            try await server.publish(query())
            await harness.whileTimePasses { await harness.replies.wait(for: 3) }
            #expect(publisher.losses.all.count == 1)
        }
    }

    @Test(arguments: [TransportError.noPeers, .lost, .node(.refused(status: 500, text: "Failed to publish: timedout"))])
    func `only a reply that a node took in vain, or that grew too old, is sealed again`(error: TransportError) async throws {
        try await harness.withServer(publishing: publisher) { [self] server in
            publisher.fail(1, with: error)
            try await server.publish(alice.envelope(alice.registration()))
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
        }
        #expect((publisher.refused.all == harness.replies.all) == (error != .lost))
    }

    @Test func `once peers are back, a held reply that has grown too old is published at once`() async throws {
        try await harness.register([alice])
        publisher.fail(.max, with: .noPeers)
        try await harness.withServer(publishing: publisher) { [self] server in
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            for count in 1...6 {
                await publisher.refused.wait(for: count)
                await harness.passTime()
            }
            await publisher.refused.wait(for: 7)
            await harness.clock.sleepers { $0.contains { $0 > .seconds(20) } }
            publisher.fail(1, with: .outdated)
            server.engine.intake.networkReturned()
            await server.engine.waitUntilIdle()
        }
        #expect(publisher.refused.all.count == 8)
        #expect(types == [.pushNotificationResponse])
    }

    @Test func `replies to registrations are not published again after 25 s`() async throws {
        try await harness.withServer(publishing: publisher) { [self] server in
            try await sendAll(to: server)
            await server.engine.waitUntilIdle()
            harness.advance(by: .seconds(26))
            for reportLoss in publisher.losses.all { reportLoss() }
            await server.engine.waitUntilIdle()
        }
        #expect(types.filter { $0 == .pushNotificationRegistrationResponse }.count == 1)
        #expect(types.count == 5)
    }

    @Test func `a lost reply to a registration is not published after the reply to a newer one`() async throws {
        try await harness.withServer(publishing: publisher) { [self] server in
            try await server.publish(alice.envelope(alice.registration(version: 1)))
            await server.engine.waitUntilIdle()
            let reportLoss = try #require(publisher.losses.all.first)
            var refused = alice.registration(version: 2)
            refused.grant[0] ^= 1
            try await server.publish(alice.envelope(refused))
            await server.engine.waitUntilIdle()
            reportLoss()
            await server.engine.waitUntilIdle()
        }
        let successes = try harness.replies.all.compactMap { alice.open($0) }
            .map { try PushNotificationRegistrationResponse.decode($0.payload).success }
        #expect(successes == [true, false])
    }

    private func expectNothingLeft() async throws {
        try await harness.withStore { store in
            let left = try await store.unfinishedRows()
            #expect(left.undecided == [] && left.unreplied == [])
        }
    }
}
