import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// The main flow of golden vectors 08 through a running server. The test posts the reference client's envelopes to its relay, takes the
/// replies from there and opens them. A stub of gorush receives the pushes.
@Suite(.fewAtATime)
struct GoldenFlowTests {
    /// - Parameter label: The version of the client's messages, which each reply leaves at 1.
    @Test(arguments: TestDatabase.allCases, [0, 1] as [UInt32])
    func `a reference client of either version cannot distinguish the server from the reference's`(
        database: TestDatabase, label: UInt32
    ) async throws {
        let flow = try GoldenFlow.load()
        let world = flow.mainFlow
        let keys = try Dictionary(
            uniqueKeysWithValues: flow.keys.map { ($0.name, try PrivateKey(#require(FixedBytes<32>($0.privateKey.bytes)))) })
        let serverKey = try PublicKey(uncompressed: world.serverPublicKey.bytes)

        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            try folder.write(Hex.encode(world.serverPrivateKey.bytes) + "\n", to: "identity.key")
            let server = try await ServerProcess.start(
                in: folder, on: database,
                settings: [
                    "gorush.url": await gorush.url, "gorush.dataFormat": "status-go", "registration.acceptRetransmission": "false",
                ])
            #expect(server.addresses.publicKey == "0x" + Hex.encode(serverKey.uncompressed.bytes))
            let network = Network(server)
            var expectedNotifications: [PostedNotification] = []

            for (number, step) in world.steps.enumerated() {
                let context: Comment = "step \(number): \(step.note)"
                var envelope = step.in.wakuEnvelope
                envelope.message.version = label
                try await network.publish(envelope)
                guard let expected = try expectation(of: number, in: world, serverKey: serverKey) else { continue }

                let client = try #require(keys[expected.encryptedTo])
                let reply = try await network.firstReply { envelope -> (WakuEnvelope, OpenedMessage, RFC26.Frame)? in
                    guard let frame = try? RFC26.openAsymmetric(envelope.message.payload, with: client),
                        let message = try? ApplicationMetadata.open(frame.data), message.sender == serverKey
                    else { return nil }
                    return (envelope, message, frame)
                }
                // Reference clients drop envelopes without the server's signature, and read only their own topic.
                #expect(reply.2.signer() == serverKey, context)
                #expect(reply.0.message.contentTopic == TopicName.partitioned(client.publicKey).topic.contentTopic, context)
                #expect(reply.0.message.version == 1 && !reply.0.message.ephemeral && reply.0.message.meta.isEmpty, context)
                #expect(reply.0.pubsubTopic == step.in.wakuEnvelope.pubsubTopic, context)
                #expect(reply.1.type.rawValue == expected.type, context)
                #expect(reply.1.payload == expected.payload, context)
                // The metadata are equal including the signature: RFC 6979 makes it deterministic.
                let metadata = ApplicationMetadata.seal(
                    expected.payload, type: reply.1.type, signer: try PrivateKey(#require(FixedBytes(world.serverPrivateKey.bytes))))
                #expect(reply.2.data == metadata, context)
                if expected.isReferences {
                    #expect(reply.2.data == step.responses[0].decoded.applicationMetadata.bytes, context)
                    #expect(reply.0.message.contentTopic == step.responses[0].contentTopic, context)
                }
                if expected.pushesLikeReference {
                    let notifications = try (step.gorush ?? []).flatMap { try PostedNotification.parse($0.body) }
                    // A target with several types under one message id gets one push: the first.
                    expectedNotifications += number == 10 ? notifications.prefix(1) : notifications[...]
                }
                // A later step unregisters the device, which withdraws pushes that have not been posted.
                await gorush.waitForNotifications(count: expectedNotifications.count)
            }

            // Step 7 repeats an envelope. The server knows its hash, so this step alone makes no decision.
            try await network.waitForDecisions(world.steps.count - 1)
            #expect(await server.terminate() == 0)
            let posted = try gorush.posts.all.flatMap { try PostedNotification.parse($0.body) }
            #expect(posted.count == expectedNotifications.count)
            for notification in expectedNotifications { #expect(posted.contains(notification)) }
        }
    }

    private struct Expectation {
        var encryptedTo: String
        var type: Int32
        var payload: [UInt8]
        /// Whether the reply equals the reference's byte for byte.
        var isReferences = true
        /// Whether gorush gets the notifications that the reference posted, or the first of them.
        var pushesLikeReference = true
    }

    /// Returns our reply to a step, including the differences from the reference (PROTOCOL.md §11).
    ///
    /// - Returns: The reply, or nil if the step has none.
    private func expectation(of number: Int, in world: GoldenFlow.World<GoldenFlow.Step>, serverKey: PublicKey) throws -> Expectation? {
        let step = world.steps[number]
        switch number {
        case 7:
            return nil
        case 8:
            // A repeated request in another envelope gets an equal reply.
            let first = world.steps[6].responses[0]
            return Expectation(
                encryptedTo: first.encryptedTo, type: first.decoded.type, payload: first.decoded.payload.bytes, isReferences: false,
                pushesLikeReference: false)
        case 5, 12:
            // Our server inserts its own key.
            var response = try PushNotificationQueryResponse.decode(step.responses[0].decoded.payload.bytes)
            for index in response.info.indices { response.info[index].serverPublicKey = serverKey.compressed.bytes }
            return Expectation(
                encryptedTo: step.responses[0].encryptedTo, type: step.responses[0].decoded.type, payload: response.encoded(),
                isReferences: false)
        case 9:
            // A second request for the same message and devices within ten minutes succeeds, without a second push.
            return Expectation(
                encryptedTo: step.responses[0].encryptedTo, type: step.responses[0].decoded.type,
                payload: step.responses[0].decoded.payload.bytes, pushesLikeReference: false)
        case 10:
            // The reference omits the report on type 0, the fourth.
            var response = try PushNotificationResponse.decode(step.responses[0].decoded.payload.bytes)
            let request = try PushNotificationRequest.decode(step.in.decoded.payload.bytes)
            var report = PushNotificationReport()
            report.publicKey = request.requests[3].publicKey
            report.installationID = request.requests[3].installationID
            response.reports.insert(report, at: 3)
            return Expectation(
                encryptedTo: step.responses[0].encryptedTo, type: step.responses[0].decoded.type, payload: response.encoded(),
                isReferences: false)
        default:
            let response = try #require(step.responses.first)
            return Expectation(
                encryptedTo: response.encryptedTo, type: response.decoded.type, payload: response.decoded.payload.bytes)
        }
    }
}
