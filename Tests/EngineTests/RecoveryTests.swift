import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// Recovery from a crash, and republication of replies that the network rejected.
@Suite(.safetyNet) struct RecoveryTests {
    let harness: Harness
    let alice: ProtocolClient
    let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    /// Lets the back-offs of a reply pass that was rejected `count` times.
    private func passBackOffs(_ count: Int) async {
        for exponent in 0..<count {
            let backOff = min(.milliseconds(500) * (1 << min(exponent, 6)), .seconds(30))
            await harness.clock.sleepers(dueIn: backOff)
            // The extra second wakes the reply only: the pruning sleeps too, but is never due that soon after a back-off.
            harness.clock.advance(by: backOff + .seconds(1))
        }
    }

    @Test func `a message that was recorded and not decided is decided at the next start`() async throws {
        let envelope = try alice.envelope(alice.registration())
        try await harness.withStore { store in
            _ = try await store.record([(hash: envelope.hash, envelope: envelope)], at: Timestamp(nanoseconds: 1))
        }
        try await harness.withServer { [harness, alice] server in
            #expect(try await alice.registrationResponse(1, from: harness).success)
            #expect(server.engine.intake.isInterested(in: TopicName.query(alice.keyHash, .plain).topic.contentTopic))
            // The network repeats the message, and the server knows it.
            try await server.publish(envelope)
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: alice) == 1)
        }
    }

    @Test func `an unpublished reply is published at the next start, and not again at the one after`() async throws {
        let refusing = FailingPublisher()
        refusing.fail(.max)
        try await harness.withServer(publishing: refusing, drainLimit: .zero) { [harness, alice] server in
            try await server.publish(alice.envelope(alice.registration()))
            await harness.clock.sleepers(dueIn: .milliseconds(500))
        }
        #expect(harness.replyCount(to: alice) == 0)
        for _ in 1...2 {
            try await harness.withServer { [harness, alice] server in
                let response = try await alice.registrationResponse(1, from: harness)
                #expect(response.success)
                await server.engine.waitUntilIdle()
            }
        }
        #expect(harness.replyCount(to: alice) == 1)
    }

    @Test func `a query whose reply was not published gets its reply after a restart`() async throws {
        let refusing = FailingPublisher()
        try await harness.withServer(publishing: refusing, drainLimit: .zero) { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            refusing.fail(.max)
            var query = PushNotificationQuery()
            query.publicKeys = [alice.keyHash.bytes]
            try await server.publish(
                bob.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(harness.server)))
            await harness.clock.sleepers(dueIn: .milliseconds(500))
        }
        try await harness.withServer { [harness, bob] _ in
            let response = try PushNotificationQueryResponse.decode(try await bob.reply(1, from: harness).payload)
            #expect(response.info.count == 1)
        }
    }

    @Test func `a reply is published without a restart after any outage of the node`() async throws {
        let refusing = FailingPublisher()
        let attemptCount = 60  // half an hour, at a back-off of 30 seconds
        refusing.fail(attemptCount, with: .node(.unreachable("on purpose")))
        try await harness.withServer(publishing: refusing) { [harness, alice] server in
            try await server.publish(alice.envelope(alice.registration()))
            await passBackOffs(attemptCount)
            #expect(try await alice.registrationResponse(1, from: harness).success)
            #expect(refusing.refused.all.count == attemptCount)
        }
    }

    @Test func `a reply that the node rejects does not delay the shutdown, and is published at the next start`() async throws {
        let refusing = FailingPublisher()
        refusing.fail(.max, with: .node(.refused(status: 400, text: "on purpose")))
        try await harness.withServer(publishing: refusing) { [alice] server in
            try await server.publish(alice.envelope(alice.registration()))
            await passBackOffs(2)
            await refusing.refused.wait(for: 3)
        }
        try await harness.withStore { store in
            let count = try await store.unfinishedRows().unreplied.count
            #expect(count == 1)
        }
    }
}

/// Messages on which the store fails although it works. The server processes other messages, and the clients of those that wait too long
/// get an error (PROTOCOL.md §7 row 12).
@Suite(.safetyNet) struct StoreTroubleTests {
    @Test func `after about two seconds the reply is INTERNAL_ERROR, and the message stays without effect`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        let bob = ProtocolClient(server: harness.server)
        try await harness.withServer { server in
            try await server.publish(bob.envelope(bob.registration()))
            #expect(try await bob.registrationResponse(1, from: harness).success)
            await server.engine.waitUntilIdle()

            try harness.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON registration BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
            try await server.publish(alice.envelope(alice.registration()))
            await harness.clock.sleepers(dueIn: .milliseconds(100))
            // The store works, so the server is healthy.
            #expect(server.engine.healthIssues.isEmpty)
            // The server processes other clients' messages meanwhile.
            try await server.publish(alice.envelope(alice.request([alice.notification(to: bob)])))
            #expect(try await alice.reply(1, from: harness).type == .pushNotificationResponse)
            await harness.passAttempts { #expect(harness.replyCount(to: alice) == 1) }
            #expect(try await alice.registrationResponse(2, from: harness).error == .internalError)
            await server.engine.waitUntilIdle()

            try harness.execute(sql: "DROP TRIGGER fault")
            try await server.publish(alice.envelope(alice.registration(version: 2)))
            #expect(try await alice.registrationResponse(3, from: harness).success)
            #expect(server.engine.healthIssues.isEmpty)
        }
        // After a reply with INTERNAL_ERROR, the next start does not decide the message.
        try await harness.withServer { server in
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: alice) == 3)
        }
    }

    /// Another process may lock the database. Each attempt then takes as long as the wait for the lock.
    @Test func `the deadline of INTERNAL_ERROR depends on time, not on the number of attempts`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withServer { server in
            try harness.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON registration BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
            try await server.publish(alice.envelope(alice.registration()))
            // Two attempts instead of twenty. The second one waits for the probe that the first one caused.
            for delay in [Duration.milliseconds(1_900), .milliseconds(110)] {
                await harness.clock.sleepers(dueIn: .milliseconds(100))
                harness.clock.advance(by: delay)
            }
            #expect(try await alice.registrationResponse(1, from: harness).error == .internalError)
        }
    }
}
