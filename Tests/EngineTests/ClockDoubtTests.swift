import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import Wire

/// A step of the wall clock that is in doubt: nothing irrevocable happens by it (RELIABILITY.md T6).
@Suite(.safetyNet) struct ClockDoubtTests {
    private static let hour = Duration.seconds(3_600)

    private let harness: Harness
    private let alice: ProtocolClient
    private let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    /// Registers Alice's phone, and lets Bob's request arrive from the store of the node after a step of the clock.
    private func receiveRequest(_ server: Harness.Running, aged age: Duration, afterStep step: Duration) async throws {
        try await server.publish(alice.envelope(alice.registration()))
        _ = try await alice.reply(1, from: harness)
        harness.wallClock.step(by: step)
        var request = try bob.envelope(bob.request([bob.notification(to: alice)]))
        request.message.timestamp = harness.wallClock.now.advanced(by: .zero - age).nanoseconds
        try await server.engine.intake.receive([request], origin: .backfilled)
        await server.engine.waitUntilIdle()
        // The journal knows from when it ages, and it is neither pushed nor dropped.
        await harness.clock.sleepers(dueIn: .seconds(1))
        #expect(try await server.store.queuedPushCount() == 0)
        #expect(try await server.store.unfinishedRows().undecided.count == 1)
    }

    @Test func `a request of 26 h waits after an absence of 30 h, and is not taken for a new one`() async throws {
        try await harness.withServer { server in
            try await receiveRequest(server, aged: Self.hour * 26, afterStep: Self.hour * 30)
        }
        harness.wallClock.settle()
        try await harness.withServer { [harness, bob] server async throws in
            await server.engine.waitUntilIdle()
            #expect(try await server.store.queuedPushCount() == 0)
            #expect(try await server.store.unfinishedRows().undecided.count == 0)
            #expect(harness.replyCount(to: bob) == 0)
        }
    }

    @Test func `a new request is pushed once a clock is back that was 200 days ahead`() async throws {
        try await harness.withServer { [harness, bob] server in
            try await receiveRequest(server, aged: Self.hour * 24 * 200, afterStep: Self.hour * 24 * 200)
            // Still in doubt.
            await harness.clock.sleepers(dueIn: .seconds(1))
            harness.advance(by: .seconds(1))
            await harness.clock.sleepers(dueIn: .seconds(1))
            #expect(try await server.store.queuedPushCount() == 0)
            harness.wallClock.step(by: .zero - Self.hour * 24 * 200)
            harness.wallClock.settle()
            harness.advance(by: .seconds(1))
            _ = try await bob.reply(1, from: harness)
            #expect(try await server.store.queuedPushCount() == 1)
        }
    }

    @Test(arguments: [-2, 200]) func `what arrives while the clock is in doubt has the time of both`(days: Int) async throws {
        try await harness.withServer { [harness, alice, bob] server in
            let before = harness.wallClock.now
            harness.wallClock.step(by: Self.hour * 24 * days)
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            let reply = try await bob.reply(1, from: harness)
            _ = reply
            // The reply has the time of the clock, and the row is not older than it was expected.
            let sent = try #require(harness.replies.all.last)
            #expect(sent.message.timestamp == harness.wallClock.now.nanoseconds)
            #expect(try await server.store.figures().oldestOpenPush == max(before, harness.wallClock.now))
        }
    }

    /// Lets the minute pass after which the engine prunes.
    private func pass() async {
        await harness.clock.sleepers(dueIn: .seconds(60))
        harness.advance(by: .seconds(60))
        await harness.clock.sleepers(dueIn: .seconds(60))
    }

    @Test func `a request rings once although the clock was believed to be a year ahead, and what that left ages again`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let request = try bob.envelope(bob.request([bob.notification(to: alice)]))
            try await server.publish(request)
            _ = try await bob.reply(1, from: harness)
            harness.wallClock.step(by: Self.hour * 24 * 365)
            harness.wallClock.believe()
            await pass()
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)], messageID: [8])))
            await server.engine.waitUntilIdle()
            harness.wallClock.step(by: Self.hour * -24 * 365)
            await pass()
            harness.wallClock.settle()
            await pass()
            let right = harness.wallClock.now
            try await server.engine.intake.receive([request], origin: .backfilled)
            await server.engine.waitUntilIdle()
            #expect(try await server.store.auditFacts().prunedCounts.values.allSatisfy { $0 == 0 })
            #expect(try await server.store.queuedPushCount() == 2)
            #expect(try await server.store.setBackFutureTimes(at: right) == 0)
        }
    }

    @Test func `nothing is pruned while the clock is in doubt`() async throws {
        try await harness.withServer { [harness, alice] server in
            for version in 1...2 as ClosedRange<UInt64> {
                try await server.publish(alice.envelope(alice.registration(version: version)))
                _ = try await alice.reply(Int(version), from: harness)
            }
            await server.engine.waitUntilIdle()
            harness.wallClock.step(by: Self.hour * 24 * 200)
            await pass()
            #expect(try await server.store.auditFacts().prunedCounts[.processed] ?? 0 == 0)
            harness.wallClock.settle()
            await pass()
            #expect(try await server.store.auditFacts().prunedCounts[.processed] == 1)
        }
    }
}
