import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport
import Wire

/// A client that labels its messages with version 0, as Status does since 2.40, at a server with a Waku node.
@Suite(.fewAtATime, .safetyNet) struct VersionZeroTests {
    @Test(arguments: TestDatabase.allCases)
    func `a client of version 0 registers, queries, pushes and is notified, live and from the node's history`(
        database: TestDatabase
    ) async throws {
        try await withStubGorush { gorush in
            let bus = Bus()
            let node = try RestartableNode(on: bus, clock: .system)
            await node.start()
            let folder = try TemporaryFolder()
            let settings = [
                "gorush.url": await gorush.url, "transport.kind": "waku", "transport.waku.url": node.url,
                "transport.waku.pollInterval": "20ms",
            ]
            let first = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let key = try serverKey(of: first)
            var (alice, bob) = (ProtocolClient(server: key, clock: .system), ProtocolClient(server: key, clock: .system))
            (alice.label, bob.label) = (0, 0)
            let said = Said()
            let network = bus.attach(listener: said)

            try await network.publish(alice.envelope(alice.registration()))
            try #expect(PushNotificationRegistrationResponse.decode(await said.reply(1, to: alice)).success)
            try await network.publish(bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
            try #expect(PushNotificationQueryResponse.decode(await said.reply(1, to: bob)).info.count == 1)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)], messageID: [1])))
            try #expect(PushNotificationResponse.decode(await said.reply(2, to: bob)).reports.map(\.success) == [true])
            await gorush.waitForNotifications(count: 1)
            #expect(await first.terminate() == 0)

            // These messages are in the node's store only when the server is back.
            try await network.publish(alice.envelope(alice.registration(version: 2)))
            try await network.publish(bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)], messageID: [2])))
            await node.kill()
            await node.start()
            let second = try await ServerProcess.start(in: folder, on: database, settings: settings)
            try #expect(PushNotificationRegistrationResponse.decode(await said.reply(2, to: alice)).success)
            _ = try await said.reply(4, to: bob)
            await gorush.waitForNotifications(count: 2)
            #expect(await second.terminate() == 0)
            #expect(
                said.all.filter { $0.message.contentTopic == TopicName.partitioned(bob.key.publicKey).topic.contentTopic }
                    .allSatisfy { $0.message.version == 1 })
            try await second.audit()
            await node.kill()
        }
    }
}

/// The messages of a network.
private final class Said: BusListener {
    private let envelopes = Recorder<WakuEnvelope>()

    var all: [WakuEnvelope] { envelopes.all }

    func receive(_ envelope: WakuEnvelope) { envelopes.append(envelope) }

    /// Waits for the reply with that number to a client, counted from 1.
    func reply(_ number: Int, to client: ProtocolClient) async throws -> [UInt8] {
        var seenCount = 0
        var replies: [[UInt8]] = []
        while replies.count < number {
            let new = await envelopes.next(after: seenCount)
            try Task.checkCancellation()
            seenCount += new.count
            replies += new.compactMap { client.open($0)?.payload }
        }
        return replies[number - 1]
    }
}
