import StatusCrypto
import Store
import TestSupport
import Testing

@Suite(.safetyNet)
struct TopicTests {
    @Test func `The topics of live registrations are listed, by row, with their newest values`() async throws {
        try await withStore { store in
            let changed = QueryTopics(plain: 0, prefixed: .max)
            for number in 1...4 { try await store.register(registration(installation(number, key: number))) }
            try await store.register(registration(installation(2, key: 2), version: 2), topics: changed)
            _ = try await store.commit {
                try $0.unregister(installation(3, key: 3), version: 2, plaintextDigest: hash(2), at: start)
            }
            let listed = try await store.reduceLiveTopics(into: [Int64: QueryTopics]()) { $0[$1] = $2 }
            #expect(listed == [1: topics, 2: changed, 4: topics])
        }
    }

    @Test func `Topic keys are kept by key and form, the last one saved`() async throws {
        try await withStore { store in
            try await store.saveTopicKey(FixedBytes(repeating: 1), keyHash: hash(1), prefixed: false)
            try await store.saveTopicKey(FixedBytes(repeating: 2), keyHash: hash(1), prefixed: true)
            try await store.saveTopicKey(FixedBytes(repeating: 3), keyHash: hash(2), prefixed: true)
            try await store.saveTopicKey(FixedBytes(repeating: 4), keyHash: hash(1), prefixed: true)
            #expect(try await store.topicKey(keyHash: hash(1), prefixed: false) == FixedBytes(repeating: 1))
            #expect(try await store.topicKey(keyHash: hash(1), prefixed: true) == FixedBytes(repeating: 4))
            #expect(try await store.topicKey(keyHash: hash(2), prefixed: true) == FixedBytes(repeating: 3))
            #expect(try await store.topicKey(keyHash: hash(2), prefixed: false) == nil)
        }
    }
}
