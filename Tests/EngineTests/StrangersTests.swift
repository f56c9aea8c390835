import Bytes
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// Attacks on clients and the server by untrusted clients, whose keys are free (docs/LIMITS.md).
@Suite(.safetyNet) struct StrangersTests {
    let harness: Harness
    let alice: ProtocolClient
    let mallory: ProtocolClient

    init() throws { (harness, alice, mallory) = try Harness.withTwoClients() }

    /// Returns a registration with the longest valid lists.
    private func largeRegistration(of client: ProtocolClient, version: UInt64 = 1) -> PushNotificationRegistration {
        var registration = client.registration(version: version)
        registration.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: 3_900)
        return registration
    }

    @Test func `repeated queries of some hundred bytes get only a limited number of response bytes`() async throws {
        try await harness.withServer { [harness, alice, mallory] server in
            try await server.publish(alice.envelope(largeRegistration(of: alice)))
            _ = try await alice.reply(1, from: harness)
            // An equal ciphertext with another time is another message.
            let question = try mallory.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash)
            try await server.publish(question)
            _ = try await mallory.reply(1, from: harness)
            for number in 1...9 {
                var again = question
                again.message.timestamp = (question.message.timestamp ?? 0) + Int64(number)
                try await server.publish(again)
            }
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: mallory) == 1)

            // Other keys make another query.
            for number in 1...40 {
                try await server.publish(
                    mallory.envelope(queryFor: [alice.keyHash, Digest64(repeating: UInt8(number))], onTopicOf: alice.keyHash))
            }
            // The server needs a second or two to publish this number of bytes.
            await harness.whileTimePasses { await server.engine.waitUntilIdle() }
            let published = harness.replies.all.reduce(0) { $0 + $1.message.payload.count }
            #expect(published < ProtocolLimits.responseByteCapacity + (512 << 10))
            #expect(published > ProtocolLimits.responseByteCapacity / 2)

            // After some time, the server replies to it again.
            harness.clock.advance(by: .seconds(20))
            let answerCount = harness.replyCount(to: mallory)
            try await server.publish(question.later)
            _ = try await mallory.reply(answerCount + 1, from: harness)
        }
    }

    @Test func `five hundred untrusted senders cause thirty pushes to one device, and then one each five seconds`() async throws {
        try await harness.withServer { [harness, alice] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            let strangers = (0..<20).map { _ in ProtocolClient(server: harness.server) }
            func attack(_ round: Int) async throws {
                for (number, stranger) in strangers.enumerated() {
                    for message in 0..<4 {
                        var notification = stranger.notification(to: alice)
                        notification.chatID = [UInt8(number)]
                        let request = stranger.request([notification], messageID: [UInt8(round), UInt8(number), UInt8(message)])
                        try await server.publish(stranger.envelope(request))
                    }
                }
                await server.engine.waitUntilIdle()
            }
            let limit = ProtocolLimits.pushCapacity
            try await attack(0)
            // A further push, with several chats, is due with the next credit.
            #expect(try await server.store.queuedPushCount() == limit + 1)
            let next = try await server.store.duePushes(route: "", at: harness.wallClock.now.advanced(by: .seconds(5)), limit: 99)
            #expect(next.count == limit + 1 && next.last?.push.chatID == [])
            #expect(
                try await server.store.duePushes(route: "", at: harness.wallClock.now.advanced(by: .seconds(4.9)), limit: 99).count == limit
            )
            // A second attack comes before the push is due, and a third one after that.
            harness.clock.advance(by: .seconds(3))
            try await attack(1)
            #expect(try await server.store.queuedPushCount() == limit + 1)
            harness.clock.advance(by: .seconds(3))
            try await attack(2)
            #expect(try await server.store.queuedPushCount() == limit + 2)
            // The attackers do not notice: each request succeeds.
            for stranger in strangers {
                let replies = harness.replies.all.compactMap { stranger.open($0)?.payload }
                #expect(replies.count == 12)
                #expect(try replies.allSatisfy { try PushNotificationResponse.decode($0).reports.map(\.success) == [true] })
            }
            #expect(Audit(try await server.store.auditFacts()).balances)
        }
    }

    @Test func `a key that registers without limit is rejected, and no more of its data is stored`() async throws {
        try await harness.withServer { [harness, mallory] server in
            func register(_ versions: ClosedRange<UInt64>) async throws -> [PushNotificationRegistrationResponse] {
                let before = harness.replyCount(to: mallory)
                for version in versions {
                    try await server.publish(mallory.envelope(mallory.registration(version: version)))
                    // Otherwise a later reply would supersede an unpublished one.
                    await server.engine.waitUntilIdle()
                }
                return try harness.replies.all.compactMap { mallory.open($0)?.payload }.dropFirst(before)
                    .map { try PushNotificationRegistrationResponse.decode($0) }
            }
            let limit = ProtocolLimits.registrationCapacity
            let responses = try await register(1...UInt64(limit + 20))
            #expect(responses.count { $0.success } == limit)
            #expect(responses.count { $0.error == .internalError && !$0.success } == 20)
            let summaries = try await server.store.registrationSummaries(of: mallory.keyHash)
            #expect(summaries.map(\.version) == [UInt64(limit)])
            harness.clock.advance(by: ProtocolLimits.registrationInterval)
            #expect(try await register(UInt64(limit + 21)...UInt64(limit + 22)).map(\.success).filter { $0 }.count == 1)
        }
    }

    @Test func `when the storage is full, known keys can still register`() async throws {
        try await harness.register([alice])
        try await harness.withServer(policy: RegistrationPolicy(maximumStoredByteCount: 1)) { [harness, alice, mallory] server in
            try await server.publish(alice.envelope(alice.registration(version: 2)))
            let renewed = try await alice.reply(1, from: harness)
            #expect(try PushNotificationRegistrationResponse.decode(renewed.payload).success)
            try await server.publish(mallory.envelope(mallory.registration()))
            let refused = try await mallory.reply(1, from: harness)
            #expect(try PushNotificationRegistrationResponse.decode(refused.payload).error == .internalError)
            #expect(try await server.store.registrationCount() == 1)
        }
    }

    @Test func `queries for a key without large lists get a response, whatever number of queries others send`() async throws {
        try await harness.withServer { [harness, alice, mallory] server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            try await server.publish(mallory.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
            _ = try await mallory.reply(1, from: harness)
            for number in 1...50 {
                try await server.publish(
                    mallory.envelope(queryFor: [alice.keyHash, Digest64(repeating: UInt8(number))], onTopicOf: alice.keyHash))
            }
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: mallory) == 51)
        }
    }
}
