import Bytes
import Dispatch
import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import Wire

/// Any client can cause 18 ms of PBKDF2 with one message on an unused query topic.
@Suite(.safetyNet) struct JunkFloodTests {
    private static let topicCount = 5

    /// A gate that stops the derivation of keys while it is closed.
    private final class Gate: Sendable {
        private let opening = DispatchSemaphore(value: 0)

        func open() { opening.signal() }

        func derive(_ topic: TopicName) -> SymmetricKey {
            opening.wait()
            open()
            return topic.deriveSymmetricKey()
        }
    }

    let harness: Harness
    let owners: [ProtocolClient]
    private let gate = Gate()

    init() async throws {
        let harness = try Harness()
        self.harness = harness
        owners = (0..<Self.topicCount).map { _ in ProtocolClient(server: harness.server) }
        try await harness.register(owners)
    }

    @Test func `junk on many query topics delays no other client, and the topics stay usable`() async throws {
        try await harness.withServer(deriveTopicKey: gate.derive) { [self] server in
            defer { gate.open() }
            let bystander = ProtocolClient(server: harness.server)
            try await server.engine.intake.receive(junk + [bystander.envelope(bystander.registration())], origin: .live)
            _ = try await bystander.reply(1, from: harness)
            #expect(try await derivedCount(in: server.store) == 0)

            // The queries wait behind the junk, in the queue of messages without a topic key.
            gate.open()
            for (number, owner) in owners.enumerated() {
                try await server.publish(bystander.envelope(queryFor: [owner.keyHash], onTopicOf: owner.keyHash))
                let reply = try await bystander.reply(2 + number, from: harness)
                #expect(try PushNotificationQueryResponse.decode(reply.payload).success)
            }
            #expect(try await derivedCount(in: server.store) == owners.count)
        }
    }

    @Test func `a shutdown does not wait for junk, which stays recorded`() async throws {
        defer { gate.open() }
        try await harness.withServer(deriveTopicKey: gate.derive) { [self] server in
            try await server.engine.intake.receive(junk, origin: .live)
        }
        try await harness.withStore { store in
            let undecidedCount = try await store.unfinishedRows().undecided.count
            #expect(undecidedCount == owners.count)
        }
    }

    /// Four hundred throw-away registrations, and a message on the topic of each, once delayed every owner's first query by seconds.
    @Test func `the key of the oldest registration is derived after at most one other, whatever the amount of earlier junk`() async throws {
        let derived = Recorder<Topic>()
        let derive: @Sendable (TopicName) -> SymmetricKey = { [gate] topic in
            derived.append(topic.topic)
            return gate.derive(topic)
        }
        try await harness.withServer(deriveTopicKey: derive) { [self] server in
            defer { gate.open() }
            let bystander = ProtocolClient(server: harness.server)
            try await server.engine.intake.receive(Array(junk.dropFirst() + junk.dropFirst()), origin: .live)
            await derived.wait(for: 1)
            try await server.publish(bystander.envelope(queryFor: [owners[0].keyHash], onTopicOf: owners[0].keyHash))
            await server.engine.waitUntilDecided()
            gate.open()
            _ = try await bystander.reply(1, from: harness)
            await derived.wait(for: owners.count)
            await server.engine.waitUntilIdle()
        }
        // Two derivations are in progress. The oldest owner's key is next, beside that of the newest registration.
        #expect(derived.all.count == owners.count)
        #expect(derived.all.prefix(4).contains(TopicName.query(owners[0].keyHash, .plain).topic))
    }

    private var junk: [WakuEnvelope] {
        owners.map { $0.wrap([UInt8](repeating: 0x5A, count: 400), topic: TopicName.query($0.keyHash, .plain).topic) }
    }

    private func derivedCount(in store: any PushStore) async throws -> Int {
        var count = 0
        for owner in owners where try await store.topicKey(keyHash: owner.keyHash, prefixed: false) != nil { count += 1 }
        return count
    }
}
