import Engine
import Envelope
import TestSupport
import Testing
import Transport
import Wire

/// Clients were seen to listen for their answer only after it had come: it is said again.
@Suite(.safetyNet) struct EchoTests {
    @Test func `a reply is said again after 1.5 and after 4 seconds, the same in other bytes`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            for tick in 1...20 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))  // the next tick
                await server.engine.waitUntilIdle()
                // Said at the end of the sixth tick and of the sixteenth, which is over when the stage sleeps again.
                #expect(harness.replyCount(to: alice) == (tick <= 6 ? 1 : tick <= 16 ? 2 : 3), "tick \(tick)")
                harness.clock.advance(by: .milliseconds(250))
            }
        }
        let replies = harness.replies.all.filter { alice.open($0) != nil }
        #expect(Set(replies.map(\.hash)).count == 3)
        let payloads = Set(replies.compactMap { alice.open($0)?.payload })
        #expect(payloads.count == 1)
    }

    @Test func `what has gathered undecided is answered before anything is said again`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        let others = (1...200).map { _ in ProtocolClient(server: harness.server) }
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            for _ in 1...5 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))
                harness.clock.advance(by: .milliseconds(250))
            }
            try harness.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON registration BEGIN SELECT raise(ABORT, 'fault'); END")
            try await server.engine.receive(others.map { try $0.envelope($0.registration()) }, origin: .live)
            // All of them wait to be tried again, and the echo is due.
            await harness.clock.sleepers { $0.count { $0 <= .milliseconds(100) } >= others.count }
            harness.clock.advance(by: .milliseconds(250))
            await harness.clock.sleepers { $0.count { $0 <= .milliseconds(100) } >= others.count && $0.contains(.milliseconds(250)) }
            try harness.execute(sql: "DROP TRIGGER fault")
            harness.clock.advance(by: .milliseconds(100))
            await server.engine.waitUntilIdle()
        }
        let places = harness.replies.all.indices.filter { alice.open(harness.replies.all[$0]) != nil }
        #expect(places.count == 2)
        // Of 64 it does not wait for the decision, and eight are published at the same time.
        #expect(places.last ?? 0 > others.count - 64 - 8)
    }

    /// A client that asked for version 1 and 2 would take the echo of the first success for an answer to both (PROTOCOL.md §7).
    @Test func `a registration's answer is not said again once the same key has sent another`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration(version: 1)))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            // Too old: refused.
            try await server.publish(alice.envelope(alice.registration(version: 1, deviceToken: String(repeating: "cd", count: 32))))
            _ = try await alice.reply(2, from: harness)
            await server.engine.waitUntilIdle()
            for _ in 1...18 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))
                harness.clock.advance(by: .milliseconds(250))
            }
            await harness.clock.sleepers(dueIn: .milliseconds(250))
            await server.engine.waitUntilIdle()
        }
        let answers = try harness.replies.all.compactMap { alice.open($0) }
            .map { try PushNotificationRegistrationResponse.decode($0.payload).success }
        #expect(answers == [true, false, false, false])
    }

    @Test func `nothing is said again while the network has no quota left`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        let publisher = FailingPublisher()
        try await harness.withServer(publishing: publisher, echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            publisher.echoes.change { $0 = false }
            for tick in 1...16 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))
                if tick == 10 { publisher.echoes.change { $0 = true } }
                harness.clock.advance(by: .milliseconds(250))
            }
            await harness.clock.sleepers(dueIn: .milliseconds(250))
            await server.engine.waitUntilIdle()
        }
        // The first echo was due before there was quota again, the second after.
        #expect(harness.replyCount(to: alice) == 2)
    }

    @Test(arguments: [(40, 3), (80, 1)])
    func `an answer above 4 KB is said once`(contactCount: Int, replyCount: Int) async throws {
        let harness = try Harness()
        let (alice, bob) = (ProtocolClient(server: harness.server), ProtocolClient(server: harness.server))
        var registration = alice.registration()
        registration.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: contactCount)
        let envelopes = [
            try alice.envelope(registration), try bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash),
        ]
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(envelopes[0])
            _ = try await alice.reply(1, from: harness)
            try await server.publish(envelopes[1])
            _ = try await bob.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            for _ in 1...18 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))
                harness.clock.advance(by: .milliseconds(250))
            }
            await harness.clock.sleepers(dueIn: .milliseconds(250))
        }
        #expect(harness.replyCount(to: bob) == replyCount)
    }

    @Test func `another key's registration changes nothing`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        let bob = ProtocolClient(server: harness.server)
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration()))
            try await server.publish(bob.envelope(bob.registration()))
            _ = try await alice.reply(1, from: harness)
            _ = try await bob.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            for _ in 1...18 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))
                harness.clock.advance(by: .milliseconds(250))
            }
            await harness.clock.sleepers(dueIn: .milliseconds(250))
            await server.engine.waitUntilIdle()
        }
        #expect(harness.replyCount(to: alice) == 3 && harness.replyCount(to: bob) == 3)
    }
}
