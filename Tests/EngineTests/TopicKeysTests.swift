import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Engine

/// The keys that the server tries on a message on a query topic.
@Suite(.safetyNet) struct TopicKeysTests {
    @Test func `the key of an owner is tried once for all installations of the owner`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withStore { store in
            let changes = try await store.apply(at: harness.wallClock.now) { batch in
                for number in 1...64 {
                    let content = alice.registration(installationID: "\(number)")
                    batch.register(
                        Registration(keyHash: alice.keyHash, content: content, plaintextDigest: Digest32()),
                        topics: QueryTopics(keyHash: alice.keyHash))
                }
            }
            let subscribers = changes.compactMap { change -> TopicTable.Subscriber? in
                guard case .added(let added) = change else { return nil }
                return .init(registration: added.registration, isPrefixed: false)
            }
            let keys = TopicKeys(store: store) { _ in SymmetricKey(FixedBytes(repeating: 7)) }
            #expect(keys.candidates(of: subscribers)?.keys.count == nil)
            try await keys.load(subscribers)
            let before = try #require(keys.candidates(of: subscribers))
            #expect(before.keys.isEmpty && before.missing?.keyHash == alice.keyHash)
            try await keys.derive(subscribers[0], ownedBy: alice.keyHash)
            let reloaded = TopicKeys(store: store) { _ in SymmetricKey(FixedBytes(repeating: 8)) }
            try await reloaded.load(subscribers)
            let candidates = try #require(reloaded.candidates(of: subscribers))
            #expect(subscribers.count == 64 && candidates.keys.count == 1 && candidates.missing == nil)
        }
    }
}
