import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Tasks
import TestSupport
import Testing
import Wire

@testable import Engine

/// Unpublishable replies wait in the database and delay no other work.
@Suite(.safetyNet) struct BacklogTests {
    enum Trouble: CaseIterable {
        case refuses
        case hangs

        func befall(_ publisher: FailingPublisher) {
            switch self {
            case .refuses: publisher.fail(.max)
            case .hangs: publisher.answers.update { $0 = 0 }
            }
        }
    }

    let harness: Harness
    let alice: ProtocolClient
    let bob: ProtocolClient
    let publisher = FailingPublisher()

    init() async throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
        bob = ProtocolClient(server: harness.server)
        try await harness.register([alice])
    }

    /// Makes the network work again.
    private func heal() {
        publisher.fail(0)
        publisher.answers.update { $0 = .max }
    }

    private func request(_ number: UInt8) throws -> WakuEnvelope {
        try bob.envelope(bob.request([bob.notification(to: alice)], messageID: [number]))
    }

    @Test(arguments: Trouble.allCases)
    func `messages are decided and their pushes delivered while the node rejects all replies`(issue: Trouble) async throws {
        issue.befall(publisher)
        try await harness.withServer(publishing: publisher, maximumIntakeCount: 2, maximumReplyCount: 2) { [self] server in
            for _ in 1...20 { try await server.publish(bob.envelope(bob.request([bob.notification(to: bob)]))) }
            for number in 1...20 { try await server.publish(request(UInt8(number))) }
            try await harness.waitForPushes(20, in: server.store)
            #expect(server.engine.inFlightCount <= 4)
            heal()
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
            #expect(harness.replyCount(to: bob) == 40)
            #expect(try await server.store.unfinishedRows().unreplied.count == 0)
        }
        try await harness.withServer { server in await server.engine.waitUntilIdle() }
        #expect(harness.replyCount(to: bob) == 40)
    }

    @Test(arguments: Trouble.allCases)
    func `unfinished messages of a crash are decided with new ones and get replies once a node accepts them`(issue: Trouble) async throws {
        issue.befall(publisher)
        let left = try (1...10).map { try request($0) }
        let leave = { (store: any PushStore) in
            let rows = try await store.record(left.map { (hash: $0.hash, envelope: $0) }, at: harness.wallClock.now).compactMap(\.self)
            let reply = Reply(
                type: .pushNotificationResponse, payload: [], recipient: bob.key.publicKey.compressed, pubsubTopic: bob.pubsubTopic,
                statusMessageID: nil)
            try await store.apply(at: harness.wallClock.now) { batch in
                for row in rows.prefix(5) { batch.decide(row, as: .answered(reply)) }
            }
        }
        try await harness.withServer(publishing: publisher, maximumIntakeCount: 2, maximumReplyCount: 2, prepare: leave) { [self] server in
            try await server.publish(request(11))
            try await harness.waitForPushes(6, in: server.store)
            #expect(try await server.store.unfinishedRows().undecided.count == 0)
            heal()
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
            #expect(harness.replyCount(to: bob) == 11)
        }
    }

    @Test(arguments: [1, 2])
    func `a query whose reply exceeds the capacity is decided again, from later registrations`(segmentCount: Int) async throws {
        let accessToken = "0f3b1c52-7d1e-4a52-9a39-0a3d1f0c8c11"
        // The server processes one message after another.
        try await harness.withServer(publishing: publisher, maximumIntakeCount: 1, maximumReplyCount: 1) { [self] server in
            publisher.answers.update { $0 = 0 }
            try await server.publish(request(1))
            for envelope in try query(inSegments: segmentCount) { try await server.publish(envelope) }
            try await server.publish(alice.envelope(alice.registration(version: 2, accessToken: accessToken)))
            try await server.publish(request(2))
            heal()
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
            let replies = harness.replies.all.compactMap { bob.open($0) }.filter { $0.type == .pushNotificationQueryResponse }
            let responses = try replies.map { try PushNotificationQueryResponse.decode($0.payload) }
            #expect(responses.map { $0.info.map(\.accessToken) } == [[AccessToken(accessToken)]])
            #expect(try await server.store.unfinishedRows().undecided.count == 0)
        }
    }

    private func query(inSegments count: Int) throws -> [WakuEnvelope] {
        var query = PushNotificationQuery()
        query.publicKeys = [alice.keyHash.bytes]
        let data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: bob.key)
        var random = SecureRandom()
        return try Segmenter(segmentByteCount: (data.count + count - 1) / count).segment(data).prefix(count).map { piece in
            bob.wrap(
                try RFC26.sealAsymmetric(piece, to: harness.server, signer: bob.key, using: &random),
                topic: TopicName.partitioned(harness.server).topic)
        }
    }
}
