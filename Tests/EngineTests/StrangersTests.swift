import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// What people can do to each other and to the server by keys that cost nothing (docs/LIMITS.md).
@Suite(.safetyNet) struct StrangersTests {
    let harness: Harness
    let alice: ProtocolClient
    let mallory: ProtocolClient

    init() throws {
        harness = try Harness()
        alice = ProtocolClient(server: harness.server)
        mallory = ProtocolClient(server: harness.server)
    }

    /// The longest lists that are taken.
    private func largeRegistration(of client: ProtocolClient, version: UInt64 = 1) -> PushNotificationRegistration {
        var registration = client.registration(version: version)
        registration.allowedKeyList = Array(repeating: [UInt8](repeating: 1, count: 64), count: 3_900)
        return registration
    }

    @Test func `a question of some hundred bytes does not buy answers without end`() async throws {
        try await harness.withServer { [harness, alice, mallory] server in
            try await server.publish(alice.envelope(largeRegistration(of: alice)))
            _ = try await alice.reply(1, from: harness)
            // The same ciphertext is another message with another time.
            let question = try mallory.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash)
            try await server.publish(question)
            _ = try await mallory.reply(1, from: harness)
            for number in 1...9 {
                var again = question
                again.message.timestamp = (question.message.timestamp ?? 0) + Int64(number)
                try await server.publish(again)
            }
            await server.engine.waitUntilIdle()
            #expect(harness.replyCount(to: mallory) == Limits.maximumAnswerCount)

            // Other words are another question.
            for number in 1...40 {
                try await server.publish(
                    mallory.envelope(queryFor: [alice.keyHash, Digest64(repeating: UInt8(number))], onTopicOf: alice.keyHash))
            }
            await server.engine.waitUntilIdle()
            let published = harness.replies.all.reduce(0) { $0 + $1.message.payload.count }
            #expect(published < Limits.answerByteCapacity + (512 << 10))
            #expect(published > Limits.answerByteCapacity / 2)

            // With time it is told again.
            harness.clock.advance(by: .seconds(20))
            let answerCount = harness.replyCount(to: mallory)
            try await server.publish(question.later)
            _ = try await mallory.reply(answerCount + 1, from: harness)
        }
    }

    @Test func `who has no large lists is answered to everybody, whoever asks how often`() async throws {
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

extension WakuEnvelope {
    /// The same with a later time.
    fileprivate var later: WakuEnvelope {
        var later = self
        later.message.timestamp = (message.timestamp ?? 0) + 1_000
        return later
    }
}
