import Engine
import Envelope
import TestSupport
import Testing
import Transport
import Wire

/// Some clients subscribe to their reply topic too late, so the server publishes a reply again after 1.5 s and after 4 s.
@Suite(.safetyNet) struct EchoTests {
    private let harness: Harness
    private let alice: ProtocolClient

    init() throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
    }

    private func request() throws -> WakuEnvelope { try alice.envelope(alice.request([alice.notification(to: alice)])) }

    /// Advances the clock once an echo is due after exactly this duration.
    private func passTime(_ duration: Duration) async {
        await harness.clock.sleepers(dueIn: duration)
        harness.clock.advance(by: duration)
    }

    @Test func `a reply is echoed after 1.5 and after 4 seconds in new envelopes`() async throws {
        try await harness.withServer(echoesReplies: true) { [self] server in
            try await server.publish(request())
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            await passTime(.milliseconds(1_500))
            await harness.replies.wait(for: 2)
            await passTime(.milliseconds(2_500))
            await harness.replies.wait(for: 3)
            harness.clock.advance(by: .seconds(30))
            await server.engine.waitUntilIdle()
        }
        #expect(harness.replyCount(to: alice) == 3)
        #expect(Set(harness.replies.all.map(\.hash)).count == 3)
        let payloads = Set(harness.replies.all.compactMap { alice.open($0)?.payload })
        #expect(payloads.count == 1)
    }

    /// A client takes any success for the reply to its newest version, and broadcasts its contact code each time (PROTOCOL.md §7).
    @Test func `a reply to a registration is published once`() async throws {
        try await harness.withServer(echoesReplies: true) { [self] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            try await server.publish(request())
            _ = try await alice.reply(2, from: harness)
            await server.engine.waitUntilIdle()
            await passTime(.milliseconds(1_500))
            await harness.replies.wait(for: 3)
            await passTime(.milliseconds(2_500))
            await harness.replies.wait(for: 4)
            await server.engine.waitUntilIdle()
        }
        let types = harness.replies.all.compactMap { alice.open($0)?.type }
        #expect(types == [.pushNotificationRegistrationResponse] + Array(repeating: .pushNotificationResponse, count: 3))
    }

    @Test func `while many messages are undecided, replies are published before echoes`() async throws {
        let others = (1...200).map { _ in ProtocolClient(server: harness.server) }
        try await harness.withServer(echoesReplies: true) { [self] server in
            try await server.publish(request())
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            await harness.clock.sleepers(dueIn: .milliseconds(1_500))
            try harness.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON registration BEGIN SELECT raise(ABORT, 'fault'); END")
            try await server.engine.intake.receive(others.map { try $0.envelope($0.registration()) }, origin: .live)
            // All messages wait for their next attempt, and the echo is due.
            await harness.clock.sleepers { $0.count { $0 <= .milliseconds(100) } >= others.count }
            harness.clock.advance(by: .milliseconds(1_500))
            await harness.clock.sleepers {
                $0.count { $0 <= .milliseconds(100) } >= others.count && $0.contains(.milliseconds(2_500))
            }
            try harness.execute(sql: "DROP TRIGGER fault")
            harness.clock.advance(by: .milliseconds(100))
            await server.engine.waitUntilIdle()
        }
        let places = harness.replies.all.indices.filter { alice.open(harness.replies.all[$0]) != nil }
        #expect(places.count == 2)
        // An echo does not wait while 64 messages or fewer are undecided, and the server publishes eight replies at the same time.
        #expect(places.last ?? 0 > others.count - 64 - 8)
    }

    @Test func `no echo is published while the quota of the network is used up`() async throws {
        let publisher = FailingPublisher()
        try await harness.withServer(publishing: publisher, echoesReplies: true) { [self] server in
            try await server.publish(request())
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            publisher.echoes.change { $0 = false }
            await passTime(.milliseconds(1_500))
            await harness.clock.sleepers(dueIn: .milliseconds(2_500))
            await server.engine.waitUntilIdle()
            publisher.echoes.change { $0 = true }
            await passTime(.milliseconds(2_500))
            await harness.replies.wait(for: 2)
        }
        // The first echo was due before the quota returned, and the second one after that.
        #expect(harness.replyCount(to: alice) == 2)
    }

    @Test(arguments: [(40, 3), (80, 1)])
    func `a reply above 4 KB is published once`(contactCount: Int, replyCount: Int) async throws {
        let bob = ProtocolClient(server: harness.server)
        var registration = alice.registration()
        registration.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: contactCount)
        let envelopes = [
            try alice.envelope(registration), try bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash),
        ]
        try await harness.withServer(echoesReplies: true) { [self] server in
            try await server.publish(envelopes[0])
            _ = try await alice.reply(1, from: harness)
            try await server.publish(envelopes[1])
            _ = try await bob.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            if replyCount > 1 {
                await passTime(.milliseconds(1_500))
                await harness.replies.wait(for: 3)
                await passTime(.milliseconds(2_500))
                await harness.replies.wait(for: 4)
            } else {
                harness.clock.advance(by: .seconds(4))
            }
            await server.engine.waitUntilIdle()
        }
        #expect(harness.replyCount(to: bob) == replyCount)
    }
}
