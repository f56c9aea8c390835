import Engine
import Envelope
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import Wire

/// Messages of version 0 and 1, and of versions that the server cannot read.
@Suite(.safetyNet) struct MessageVersionTests {
    let harness: Harness
    let alice: ProtocolClient

    init() throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
    }

    @Test(arguments: [EnvelopeOrigin.live, .backfilled], [(0, 1), (1, 0)] as [(UInt32, UInt32)])
    func `a request of version 0 or 1 gets its reply, and its twin of the other none`(
        origin: EnvelopeOrigin, labels: (first: UInt32, second: UInt32)
    ) async throws {
        try await harness.withServer { [harness, alice] server in
            var envelope = try alice.envelope(alice.registration())
            envelope.message.version = labels.first
            try await server.publishOnce(envelope, origin: origin)
            let response = try await alice.reply(1, from: harness)
            #expect(try PushNotificationRegistrationResponse.decode(response.payload).success)
            envelope.message.version = labels.second
            try await server.publishOnce(envelope, origin: origin)
            await server.engine.waitUntilIdle()
            #expect(harness.replies.all.map(\.message.version) == [1])
        }
    }

    /// Sends messages that differ in their time.
    private func send(_ count: Int, version: UInt32, to server: Harness.Running) async throws {
        var client = alice
        client.label = version
        let topic = TopicName.personal(harness.server).topic
        try await server.engine.intake.receive((0..<count).map { _ in client.wrap([1, 2, 3], topic: topic) }, origin: .live)
    }

    @Test(arguments: [(20, 0, false), (21, 0, true), (30, 30, false), (31, 30, true)])
    func `if most messages of an hour have another version, a warning tells what is known, and ends with the hour`(
        unreadableCount: Int, readableCount: Int, isWarned: Bool
    ) async throws {
        try await harness.withServer { server in
            try await send(readableCount, version: 1, to: server)
            try await send(unreadableCount, version: 9, to: server)
            let warning = server.engine.versionWarning
            #expect((warning != nil) == isWarned)
            if isWarned {
                #expect(warning?.contains("\(unreadableCount) of unknown senders, the last one of version 9") == true)
                #expect(warning?.contains("\(readableCount) readable") == true)
            }
            harness.clock.advance(by: .seconds(3_600))
            #expect(server.engine.versionWarning == nil)
        }
    }

    @Test func `a message that comes again counts once, and one on a topic without interest not at all`() async throws {
        try await harness.withServer { [harness, alice] server in
            var client = alice
            client.label = 2
            let unreadable = client.wrap([1], topic: TopicName.personal(harness.server).topic)
            for _ in 0..<50 { server.engine.intake.countUnreadable([unreadable]) }
            try await server.publish(unreadable)
            for number in 0..<50 { server.engine.intake.countUnreadable([client.wrap([UInt8(number)], topic: Topic(rawValue: 1))]) }
            #expect(server.engine.versionWarning == nil)
        }
    }

    @Test(arguments: [(21, 0, 2), (21, 2_100, 0), (22, 2_100, 2)])
    func `the log has a line when more than 20 messages and 1 % have another version, and one when that ends`(
        unreadableCount: Int, readableCount: Int, lineCount: Int
    ) async throws {
        try await harness.withServer { [harness] server in
            try await send(readableCount, version: 1, to: server)
            try await send(unreadableCount, version: 2, to: server)
            for _ in 1...61 {
                await harness.clock.sleepers(dueIn: .seconds(60))
                harness.advance(by: .seconds(60))
            }
            await harness.clock.sleepers(dueIn: .seconds(60))
            #expect(
                harness.log.all.filter { $0.contains("unsupported versions") }
                    == Array(
                        ["ignoring messages of unsupported versions", "no longer ignoring messages of unsupported versions"]
                            .prefix(lineCount)))
        }
    }
}
