import Bytes
import Envelope
import Foundation
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The world "segmented registration" of golden vectors 08: a registration in nine segments, one of them lost and rebuilt from parity.
@Suite(.fewAtATime)
struct SegmentedRegistrationTests {
    @Test(arguments: [false, true], TestDatabase.allCases)
    func `a registration in segments gets the reply of the reference`(isReversed: Bool, database: TestDatabase) async throws {
        let world = try GoldenFlow.load().segmentedRegistration
        let serverKey = try PublicKey(uncompressed: world.serverPublicKey.bytes)
        let folder = try TemporaryFolder()
        try folder.write(Hex.encode(world.serverPrivateKey.bytes) + "\n", to: "identity.key")
        let keys = try GoldenFlow.load().keys
        func privateKey(_ name: String) throws -> PrivateKey {
            let key = try #require(keys.first { $0.name == name })
            return try PrivateKey(#require(FixedBytes<32>(key.privateKey.bytes)))
        }

        // All segments before the first reply belong to one message, in any order.
        let answered = try #require(world.steps.firstIndex { !$0.responses.isEmpty })
        var segments = world.steps[...answered].map(\.in.wakuEnvelope)
        if isReversed { segments.reverse() }
        let half = segments.count / 2

        // The server crashes after half of the segments, which stay in the journal.
        let first = try await ServerProcess.start(in: folder, on: database)
        for envelope in segments[..<half] { try await Network(first).publish(envelope) }
        await first.kill()
        let server = try await ServerProcess.start(in: folder, on: database)
        let network = Network(server)
        for envelope in segments[half...] { try await network.publish(envelope) }
        try await check(world.steps[answered], on: network, serverKey: serverKey, privateKey: privateKey)

        // The remaining steps are late segments, and a query for the registered owner.
        for step in world.steps[(answered + 1)...] {
            try await network.publish(step.in.wakuEnvelope)
            if !step.responses.isEmpty { try await check(step, on: network, serverKey: serverKey, privateKey: privateKey) }
        }
        #expect(await server.terminate() == 0)
    }

    private func check(
        _ step: GoldenFlow.SegmentStep, on network: Network, serverKey: PublicKey, privateKey: (String) throws -> PrivateKey
    ) async throws {
        let expected = try #require(step.responses.first)
        let client = ProtocolClient(key: try privateKey(expected.encryptedTo), server: serverKey)
        let reply = try await network.firstReply { client.open($0) }
        #expect(reply.type.rawValue == expected.decoded.type)
        if reply.type == .pushNotificationQueryResponse {
            // Our server inserts its own key.
            var response = try PushNotificationQueryResponse.decode(expected.decoded.payload.bytes)
            for index in response.info.indices { response.info[index].serverPublicKey = serverKey.compressed.bytes }
            #expect(reply.payload == response.encoded())
        } else {
            #expect(reply.payload == expected.decoded.payload.bytes)
        }
    }
}
