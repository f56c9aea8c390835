import Engine
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet) struct TopicDirectoryTests {
    /// A device token turns out to be dead while its owner registers anew: both say so to the directory, in either order.
    @Test(arguments: [false, true])
    func `topics go with a registration that died, and stay with one that is live again`(isLiveAgain: Bool) async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withStore { store in
            let topics = QueryTopics(keyHash: alice.keyHash)
            let content = alice.registration()
            let registration = Registration(keyHash: alice.keyHash, content: content, plaintextDigest: Digest32())
            _ = try await store.commit { try $0.register(registration, replacing: nil, topics: topics, at: harness.wallTime) }
            let directory = try await TopicDirectory(serverKey: harness.server, store: store)
            let later = harness.wallTime.advanced(by: .seconds(1))
            let buried = try await store.commit { transaction in
                try transaction.bury(content.deviceToken, type: .apn, registeredBefore: later, reason: "", route: "", at: later)
            }
            #expect(buried.count == 1)
            if isLiveAgain {
                _ = try await store.commit { transaction in
                    try transaction.register(
                        registration, replacing: transaction.stored(registration.installation), topics: topics, at: later)
                }
            }
            await directory.remove(buried, unlessLiveIn: store)
            for form in [TopicName.QueryForm.plain, .prefixed] {
                #expect(directory.wants(TopicName.query(alice.keyHash, form).topic) == isLiveAgain)
            }
        }
    }
}
