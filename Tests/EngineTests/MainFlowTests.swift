import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing
import Wire

/// The main flow: a message arrives on the bus, the server replies, and the stored state has changed.
@Suite(.safetyNet) struct MainFlowTests {
    let harness: Harness
    let alice: ProtocolClient
    let bob: ProtocolClient

    init() throws { (harness, alice, bob) = try Harness.withTwoClients() }

    @Test func `the reply to a registration has its request id, and the keys of its topics are derived after it`() async throws {
        let derived = Recorder<Topic>()
        let derive: @Sendable (TopicName) -> SymmetricKey = { name in
            derived.append(name.topic)
            return name.deriveSymmetricKey()
        }
        try await harness.withServer(deriveTopicKey: derive) { [harness, alice] server in
            let payload = alice.encrypted(alice.registration())
            try await server.publish(
                alice.toServer(payload, type: .pushNotificationRegistration, topic: .personal(harness.server)))
            let reply = try await alice.reply(1, from: harness)
            #expect(reply.type == .pushNotificationRegistrationResponse)
            let response = try PushNotificationRegistrationResponse.decode(reply.payload)
            #expect(response.success)
            #expect(response.requestID == Keccak.shake256(payload).bytes)
            await derived.wait(for: 2)
        }
        #expect(derived.all.count == 2)
        #expect(Set(derived.all) == Set([.plain, .prefixed].map { TopicName.query(alice.keyHash, $0).topic }))
    }

    @Test func `each kind of reply goes to the shard that its request came from`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            for (number, topic) in [(1, TestNode.secondTopic), (2, TestNode.topic)] {
                func publish(_ envelope: WakuEnvelope) async throws {
                    var envelope = envelope
                    envelope.pubsubTopic = topic
                    try await server.publish(envelope)
                }
                try await publish(alice.envelope(alice.registration(version: UInt64(number))))
                _ = try await alice.reply(number, from: harness)
                try await publish(bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
                _ = try await bob.reply(2 * number - 1, from: harness)
                try await publish(bob.envelope(bob.request([bob.notification(to: alice)], messageID: [UInt8(number)])))
                _ = try await bob.reply(2 * number, from: harness)
            }
            #expect(
                harness.replies.all.map(\.pubsubTopic)
                    == Array(repeating: TestNode.secondTopic, count: 3) + Array(repeating: TestNode.topic, count: 3))
        }
    }

    @Test(arguments: [TopicName.QueryForm.plain, .prefixed])
    func `a registered key can be queried on both forms of its query topic`(form: TopicName.QueryForm) async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let query = try bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash, form: form)
            try await server.publish(query)
            let reply = try await bob.reply(1, from: harness)
            let response = try PushNotificationQueryResponse.decode(reply.payload)
            #expect(response.success)
            let info = try #require(response.info.first)
            #expect(response.info.count == 1)
            #expect(info.accessToken == alice.registration().accessToken)
            #expect(info.publicKey == alice.keyHash.bytes)
            #expect(info.serverPublicKey == harness.server.compressed.bytes)
            #expect(try await server.store.topicKey(keyHash: alice.keyHash, prefixed: form == .prefixed) != nil)
        }
    }

    @Test func `a query may also arrive on the server's own topic, and its reply is not stored`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            var query = PushNotificationQuery()
            query.publicKeys = [alice.keyHash.bytes]
            func ask() throws -> WakuEnvelope {
                try bob.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(harness.server))
            }
            // The server knows no owner yet, so it does not reply.
            try await server.publish(ask())
            await server.engine.waitUntilIdle()
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            // A repeated query has the same Status message id, and gets a reply from the current state.
            try await server.publish(ask())
            let reply = try await bob.reply(1, from: harness)
            #expect(try PushNotificationQueryResponse.decode(reply.payload).info.count == 1)
        }
    }

    @Test func `a push request gets a reply, and its push is in the outbox`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            let reply = try await bob.reply(1, from: harness)
            let response = try PushNotificationResponse.decode(reply.payload)
            #expect(response.messageID == [7])
            #expect(response.reports.map(\.success) == [true])
            let due = try await server.store.duePushes(route: "", at: .distantFuture, limit: 10)
            #expect(due.map(\.push.deviceToken) == [alice.registration().deviceToken])
        }
    }

    @Test func `without a gorush, a push is discarded at once`() async throws {
        try await harness.withServer(isDryRun: true) { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            _ = try await bob.reply(1, from: harness)
            #expect(try await server.store.queuedPushCount() == 0)
        }
    }

    @Test func `a repeated request gets the same response and no second push`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let first = bob.request([bob.notification(to: alice), bob.notification(to: alice, installationID: "unknown")])
            try await server.publish(bob.envelope(first))
            let answer = try await bob.reply(1, from: harness)
            // The decision outlives the deduplication key.
            harness.wallClock.advance(by: .seconds(3_600))
            try await server.publish(bob.envelope(first))
            let again = try await bob.reply(2, from: harness)
            #expect(again.payload == answer.payload)
            #expect(try await server.store.queuedPushCount() == 1)
        }
    }

    @Test func `within ten minutes another envelope for the same message and device is merged`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let carol = ProtocolClient(server: harness.server)
            for (sender, minutes) in [(bob, 0), (carol, 9), (bob, 2)] {
                harness.wallClock.advance(by: .seconds(60 * minutes))
                var notification = sender.notification(to: alice)
                // The bytes differ each time, so that each is another request.
                notification.author = [UInt8(minutes)]
                try await server.publish(sender.envelope(sender.request([notification])))
                await server.engine.waitUntilIdle()
            }
            #expect(try await server.store.queuedPushCount() == 2)
        }
    }

    @Test func `an unregistered installation gets no push, and its old registration stays refused`() async throws {
        try await harness.withServer { [harness, alice, bob] server in
            try await server.publish(alice.envelope(alice.registration(version: 1)))
            _ = try await alice.reply(1, from: harness)
            let topic = TopicName.query(alice.keyHash, .plain).topic.contentTopic
            #expect(server.engine.intake.isInterested(in: topic))
            var leaving = alice.registration(version: 2)
            leaving.unregister = true
            try await server.publish(alice.envelope(leaving))
            #expect(try await alice.registrationResponse(2, from: harness).success)
            #expect(!server.engine.intake.isInterested(in: topic))
            try await server.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            let response = try PushNotificationResponse.decode(try await bob.reply(1, from: harness).payload)
            #expect(response.reports.map(\.error) == [.notRegistered])
            try await server.publish(alice.envelope(alice.registration(version: 2)))
            #expect(try await alice.registrationResponse(3, from: harness).error == .versionMismatch)
        }
    }

    @Test func `the server unsubscribes from a key's topics when its last installation unregisters`() async throws {
        try await harness.withServer { [harness, alice] server in
            let topic = TopicName.query(alice.keyHash, .plain).topic.contentTopic
            for (number, installation) in ["phone", "tablet"].enumerated() {
                try await server.publish(alice.envelope(alice.registration(installationID: installation)))
                _ = try await alice.reply(number + 1, from: harness)
            }
            for (number, installation) in ["phone", "tablet"].enumerated() {
                #expect(server.engine.intake.isInterested(in: topic))
                var leaving = alice.registration(installationID: installation, version: 2)
                leaving.unregister = true
                try await server.publish(alice.envelope(leaving))
                _ = try await alice.reply(number + 3, from: harness)
            }
            #expect(!server.engine.intake.isInterested(in: topic))
        }
    }
}

extension ProtocolClient {
    /// Waits for the reply with that number to this client, counted from 1.
    func reply(_ number: Int, from harness: Harness) async throws -> OpenedMessage {
        var seenCount = 0
        var mine: [OpenedMessage] = []
        while mine.count < number {
            let new = await harness.replies.next(after: seenCount)
            try Task.checkCancellation()
            seenCount += new.count
            mine += new.compactMap { open($0) }
        }
        return mine[number - 1]
    }

    func registrationResponse(_ number: Int, from harness: Harness) async throws -> PushNotificationRegistrationResponse {
        try PushNotificationRegistrationResponse.decode(try await reply(number, from: harness).payload)
    }
}

extension Timestamp {
    static let distantFuture = Timestamp(nanoseconds: .max)
}
