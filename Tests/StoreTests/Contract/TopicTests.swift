import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

@Suite(.safetyNet)
struct TopicTests {
    @Test(arguments: StoreUnderTest.all)
    func `the topics of live registrations are listed by row with their newest values`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let changed = QueryTopics(plain: 0, prefixed: .max)
            for number in 1...4 { try await store.register(registration(installation(number, key: number))) }
            try await store.register(registration(installation(2, key: 2), version: 2), topics: changed)
            try await store.unregister(installation(3, key: 3), version: 2)
            let listed = try await store.reduceLiveTopics(into: [Int64: QueryTopics]()) { $0[$1] = $2 }
            #expect(listed == [1: topics, 2: changed, 4: topics])
            #expect(try await store.liveTopics(of: [4, 3, 2]).map(\.registration) == [4, 2])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `topic keys are stored by key and form, and the last saved one counts`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            try await store.register(registration(installation(2, key: 2)))
            try await store.saveTopicKey(FixedBytes(repeating: 1), keyHash: hash(1), prefixed: false)
            try await store.saveTopicKey(FixedBytes(repeating: 2), keyHash: hash(1), prefixed: true)
            try await store.saveTopicKey(FixedBytes(repeating: 3), keyHash: hash(2), prefixed: true)
            try await store.saveTopicKey(FixedBytes(repeating: 4), keyHash: hash(1), prefixed: true)
            #expect(try await store.topicKey(ofRegistration: 1, prefixed: false) == FixedBytes(repeating: 1))
            #expect(try await store.topicKey(ofRegistration: 1, prefixed: true) == FixedBytes(repeating: 4))
            #expect(try await store.topicKey(ofRegistration: 2, prefixed: true) == FixedBytes(repeating: 3))
            #expect(try await store.topicKey(ofRegistration: 2, prefixed: false) == nil)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `topic keys stay while an installation of the key is registered, and are deleted with the last`(
        kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            try await store.register(registration(installation(2)))
            try await store.saveTopicKey(FixedBytes(repeating: 9), keyHash: hash(1), prefixed: true)
            try await store.unregister(installation(1), version: 2)
            #expect(try await store.topicKey(ofRegistration: 1, prefixed: true) == FixedBytes(repeating: 9))
            try await store.unregister(installation(2), version: 2)
            #expect(try await store.topicKey(ofRegistration: 1, prefixed: true) == nil)
        }
    }
}
