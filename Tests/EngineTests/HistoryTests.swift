import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import Wire

@testable import Engine

/// Late messages from a node's history, and replies that must leave in time for one.
@Suite(.safetyNet) struct HistoryTests {
    let harness: Harness
    let alice: ProtocolClient
    let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    /// Returns the envelope with a timestamp that is this much older.
    func aged(_ envelope: WakuEnvelope, by age: Duration) -> WakuEnvelope {
        var envelope = envelope
        envelope.message.timestamp = harness.wallClock.now.advanced(by: .zero - age).nanoseconds
        return envelope
    }

    @Test(arguments: [EnvelopeOrigin.live, .backfilled], [Duration.seconds(23 * 3_600), .seconds(25 * 3_600)])
    func `a push request causes a push unless it is backfilled more than a day late`(origin: EnvelopeOrigin, age: Duration) async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let request = try bob.envelope(bob.request([bob.notification(to: alice)]))
            try await server.engine.intake.receive([aged(request, by: age)], origin: origin)
            await server.engine.waitUntilIdle()
            let isPushed = origin == .live || age < .seconds(24 * 3_600)
            #expect(try await server.store.queuedPushCount() == (isPushed ? 1 : 0))
            #expect(harness.replyCount(to: bob) == (isPushed ? 1 : 0))
            #expect(try await server.store.unfinishedRows().undecided.count == 0)
        }
    }

    @Test(arguments: [Duration.seconds(23 * 3_600), .seconds(25 * 3_600)])
    func `a query gets a reply unless it is backfilled more than a day late`(age: Duration) async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            var query = PushNotificationQuery()
            query.publicKeys = [alice.keyHash.bytes]
            let envelope = try bob.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(harness.server))
            try await server.engine.intake.receive([aged(envelope, by: age)], origin: .backfilled)
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: bob) == (age < .seconds(24 * 3_600) ? 1 : 0))
        }
    }

    @Test(
        arguments: [
            (false, .live, 5, nil), (false, .live, nil, nil), (false, .backfilled, 5, 5), (false, .backfilled, 0, nil),
            (false, .backfilled, nil, nil), (true, .live, 5, 9), (true, .backfilled, 0, 9), (true, .backfilled, nil, 9),
        ] as [(Bool, EnvelopeOrigin, Int64?, Int64?)])
    func `a message ages from its sending if it is backfilled and has a time, and from its arrival if it has waited`(
        isReadAgain: Bool, origin: EnvelopeOrigin, sentAt: Int64?, agesSince: Int64?
    ) {
        var envelope = alice.wrap([1], topic: TopicName.personal(harness.server).topic)
        envelope.message.timestamp = sentAt
        let message = RecordedMessage(
            id: 1, receivedAt: Timestamp(nanoseconds: 9), envelope: envelope, addressees: .init(), origin: origin, isReadAgain: isReadAgain)
        #expect(message.agesSince == agesSince.map(Timestamp.init(nanoseconds:)))
    }

    @Test func `a backfilled registration is accepted at any age`() async throws {
        try await harness.withServer { [harness, alice] server in
            let envelope = try alice.envelope(alice.registration())
            try await server.engine.intake.receive([aged(envelope, by: .seconds(40 * 24 * 3_600))], origin: .backfilled)
            _ = try await alice.reply(1, from: harness)
            #expect(try await server.store.registrationCount() == 1)
        }
    }

    @Test func `a reply whose envelope is too old for archives is published in a new envelope`() async throws {
        let publisher = FailingPublisher()
        try await harness.withServer(publishing: publisher) { [harness, alice] server in
            publisher.fail(1, with: .outdated)
            try await server.publish(alice.envelope(alice.registration()))
            await harness.clock.sleepers(dueIn: .milliseconds(500))
            harness.wallClock.advance(by: .seconds(30))
            harness.clock.advance(by: .milliseconds(500))
            _ = try await alice.reply(1, from: harness)
            let first = try #require(publisher.refused.all.first)
            let second = try #require(harness.replies.all.first { alice.open($0) != nil })
            #expect(second.message.payload != first.message.payload)
            #expect(second.message.timestamp == harness.wallClock.now.nanoseconds)
        }
    }
}
