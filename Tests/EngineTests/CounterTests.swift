import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestSupport
import Testing
import Transport
import Wire

/// Each counter goes up by the amount of what happened, and no other one does.
@Suite(.safetyNet) struct CounterTests {
    struct Scene: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var maximumIntakeCount = 4_096
        var maximumIntakeByteCount = 32 << 20
        var maximumReplyCount = 4_096
        var echoesReplies = false
        var lifetime = RegistrationPolicy().lifetime
        let counts: [String: Int]
        let happens: @Sendable (Place) async throws -> Void
    }

    /// A running server, and what reaches it.
    struct Place: Sendable {
        let harness: Harness
        let server: Harness.Running
        let publisher: FailingPublisher
        let clients: [ProtocolClient]

        func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin = .live) async throws {
            try await server.engine.intake.receive(envelopes, origin: origin)
        }

        func registrations(version: UInt64 = 1) throws -> [WakuEnvelope] {
            try clients.map { try $0.envelope($0.registration(version: version)) }
        }

        func junk(_ count: Int, version: UInt32 = 1, byteCount: Int = 100) -> [WakuEnvelope] {
            var client = clients[0]
            client.label = version
            let topic = TopicName.personal(harness.server).topic
            return (0..<count).map { _ in client.wrap([UInt8](repeating: 0x5A, count: byteCount), topic: topic) }
        }
    }

    static let scenes = [
        Scene(
            testDescription: "three registrations, two of them twice",
            counts: [
                "pushserver_envelopes_total recorded": 3, "pushserver_envelopes_total duplicate": 2,
                "pushserver_messages_total registration registered": 3, "pushserver_replies_total registration published": 3,
            ]
        ) { place in
            let envelopes = try place.registrations()
            try await place.receive(envelopes)
            try await place.receive(Array(envelopes.dropLast()))
            await place.server.engine.waitUntilIdle()
        },
        Scene(
            testDescription: "four messages that nobody can read, and three of an unknown version",
            counts: [
                "pushserver_envelopes_total recorded": 4, "pushserver_envelopes_total unsupported_version": 3,
                "pushserver_messages_total other invalid": 4,
            ]
        ) { place in
            try await place.receive(place.junk(4) + place.junk(3, version: 9))
            await place.server.engine.waitUntilIdle()
        },
        Scene(
            testDescription: "three messages that cannot be recorded",
            counts: ["pushserver_envelopes_total failed": 3, "pushserver_storage_errors_total": 1]
        ) { place in
            try place.harness.execute(
                sql: "CREATE TRIGGER fault BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'on purpose'); END")
            await #expect(throws: StoreError.self) { try await place.receive(place.junk(3)) }
        },
        Scene(
            testDescription: "three messages to an intake that is full, and two of the history",
            maximumIntakeCount: 1,
            counts: [
                "pushserver_envelopes_total recorded": 1, "pushserver_envelopes_total shed_message_count": 5,
                "pushserver_commit_failures_total": 1, "pushserver_storage_errors_total": 1,
                "pushserver_messages_total registration registered": 1, "pushserver_replies_total registration published": 1,
            ]
        ) { place in
            try await place.withFullIntake {
                await #expect(throws: Overload.messageCount) { try await place.receive(place.junk(3)) }
                await #expect(throws: Overload.messageCount) { try await place.receive(place.junk(2), origin: .backfilled) }
            }
        },
        Scene(
            testDescription: "three messages to an intake without room for their bytes",
            maximumIntakeByteCount: 300,
            counts: [
                "pushserver_envelopes_total recorded": 1, "pushserver_envelopes_total shed_byte_count": 3,
                "pushserver_commit_failures_total": 1, "pushserver_storage_errors_total": 1,
                "pushserver_messages_total registration registered": 1, "pushserver_replies_total registration published": 1,
            ]
        ) { place in
            try await place.withFullIntake {
                await #expect(throws: Overload.byteCount) { try await place.receive(place.junk(3)) }
            }
        },
        Scene(
            testDescription: "two messages of the history to an intake that is half full",
            maximumIntakeCount: 2,
            counts: [
                "pushserver_envelopes_total recorded": 1, "pushserver_envelopes_total shed_history": 2,
                "pushserver_commit_failures_total": 1, "pushserver_storage_errors_total": 1,
                "pushserver_messages_total registration registered": 1, "pushserver_replies_total registration published": 1,
            ]
        ) { place in
            try await place.withFullIntake {
                await #expect(throws: Overload.history) { try await place.receive(place.junk(2), origin: .backfilled) }
            }
        },
        Scene(
            testDescription: "the replies to three registrations are superseded before they are published",
            maximumReplyCount: 3,
            counts: [
                "pushserver_envelopes_total recorded": 6, "pushserver_messages_total registration registered": 6,
                "pushserver_replies_total registration failed": 3, "pushserver_replies_total registration superseded": 3,
                "pushserver_replies_total registration published": 3,
            ]
        ) { place in
            place.publisher.answers.update { $0 = 0 }
            try await place.receive(place.registrations())
            await place.publisher.offered.wait(for: 3)
            try await place.receive(place.registrations(version: 2))
            await place.server.engine.waitUntilDecided()
            place.publisher.fail(3)
            place.publisher.answers.update { $0 = .max }
            await place.harness.whileTimePasses { await place.server.engine.waitUntilIdle() }
        },
        Scene(
            testDescription: "three registrations that nobody uses for a day",
            lifetime: .seconds(86_400),
            counts: [
                "pushserver_envelopes_total recorded": 3, "pushserver_messages_total registration registered": 3,
                "pushserver_replies_total registration published": 3, "pushserver_unused_registrations_total": 3,
            ]
        ) { place in
            try await place.receive(place.registrations())
            await place.server.engine.waitUntilIdle()
            for _ in 1...3 {
                await place.harness.clock.sleepers(dueIn: .seconds(60))
                place.harness.wallClock.advance(by: .seconds(86_400))
                place.harness.clock.advance(by: .seconds(60))
            }
            await place.harness.clock.sleepers(dueIn: .seconds(60))
        },
        Scene(
            testDescription: "three replies with two echoes each, one of which is not allowed",
            echoesReplies: true,
            counts: [
                "pushserver_envelopes_total recorded": 3, "pushserver_messages_total push_request decided": 3,
                "pushserver_replies_total push_request published": 3, "pushserver_reply_echoes_total published": 3,
                "pushserver_reply_echoes_total dropped": 3,
            ]
        ) { place in
            try await place.receive(place.clients.map { try $0.envelope($0.request([$0.notification(to: $0)])) })
            await place.publisher.offered.wait(for: 3)
            await place.server.engine.waitUntilIdle()
            place.publisher.echoes.change { $0 = false }
            await place.harness.passTime()
            await place.harness.clock.sleepers(dueIn: .milliseconds(2_500))
            await place.server.engine.waitUntilIdle()
            place.publisher.echoes.change { $0 = true }
            await place.harness.passTime()
            await place.publisher.offered.wait(for: 6)
            await place.server.engine.waitUntilIdle()
        },
    ]

    @Test(arguments: scenes) func `what happens is counted, each time once`(_ scene: Scene) async throws {
        let harness = try Harness()
        let publisher = FailingPublisher()
        let clients = (1...3).map { _ in ProtocolClient(server: harness.server) }
        try await CountedMetrics.with { counted in
            var policy = RegistrationPolicy()
            policy.lifetime = scene.lifetime
            try await harness.withServer(
                policy: policy, publishing: publisher, echoesReplies: scene.echoesReplies, maximumIntakeCount: scene.maximumIntakeCount,
                maximumIntakeByteCount: scene.maximumIntakeByteCount, maximumReplyCount: scene.maximumReplyCount, confirmsDelivery: true
            ) { server in
                try await scene.happens(Place(harness: harness, server: server, publisher: publisher, clients: clients))
            }
            #expect(counted.all == scene.counts)
        }
    }
}

extension CounterTests.Place {
    /// Runs the body while the intake has a registration that the store does not decide.
    fileprivate func withFullIntake(_ body: () async throws -> Void) async throws {
        try harness.execute(sql: IntakeTests.fault)
        try await receive([try registrations()[0]])
        // The first attempt has failed.
        await harness.clock.sleepers(dueIn: .milliseconds(100))
        try await body()
        try harness.execute(sql: "DROP TRIGGER fault")
        await harness.whileTimePasses { await server.engine.waitUntilIdle() }
    }
}
