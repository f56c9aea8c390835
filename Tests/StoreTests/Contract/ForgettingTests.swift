import Bytes
import Envelope
import Foundation
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import SQLiteStore

/// The remainder of a forgotten key.
@Suite(.safetyNet) struct ForgettingTests {
    private let key: PublicKey
    private let phone: Installation
    private let tablet: Installation

    init() throws {
        key = try PrivateKey(FixedBytes(repeating: 1)).publicKey
        phone = Installation(keyHash: key.hash, installationID: "installation-of-a-phone")
        tablet = Installation(keyHash: key.hash, installationID: "installation-of-a-tablet")
    }

    /// Stores a key with a phone, an unregistered tablet, a dead device, pushes (sent, in flight and waiting) and a reply, and another key
    /// with the same rows.
    private func fill(_ store: any PushStore) async throws {
        for keyHash in [key.hash, hash(2)] {
            let base = keyHash == key.hash ? 0 : 10
            for name in ["installation-of-a-phone", "installation-of-a-tablet", "installation-that-died"] {
                var content = registration(Installation(keyHash: keyHash, installationID: name), version: 3)
                content.content.deviceToken = "token of \(name) \(base)"
                content.content.blockedChatList = [Array("a chat that is blocked".utf8)]
                try await store.register(content)
            }
            try await store.unregister(Installation(keyHash: keyHash, installationID: "installation-of-a-tablet"), version: 4)
            _ = try await store.unregister(
                token: "token of installation-that-died \(base)", attemptedAt: start.advanced(by: .seconds(1)), at: start)
            try await store.saveTopicKey(FixedBytes(repeating: 9), keyHash: keyHash, prefixed: true)
            let message = try await store.record(base + 1)
            var answer = reply(base + 1, status: hash(base + 1))
            answer.recipient = keyHash == key.hash ? key.compressed : FixedBytes(repeating: 3)
            try await store.decide([message], as: .answered(answer))
            var pushes = (1...3).map { push(base + $0) }
            for index in pushes.indices {
                pushes[index].target = Installation(keyHash: keyHash, installationID: "installation-of-a-phone")
            }
            try await store.enqueue(pushes, message: message)
        }
        try await store.change([1, 4], to: .finish(.sent))
        // An attempt is in flight, and leaves its push forgotten all the same.
        _ = try await store.mark([2, 5], until: start.advanced(by: .seconds(150)))
    }

    @Test(arguments: StoreUnderTest.all)
    func `forgetting a key keeps only versions, and no data of others is lost`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await fill(store)
            let forgotten = try await store.forget(key, at: start)
            #expect(forgotten.registrationCount == 1 && forgotten.tombstoneCount == 3 && forgotten.pushCount == 3)
            #expect(forgotten.deadRegistrationCount == 1 && forgotten.replyCount == 1)

            let left = try await store.registrationSummaries(of: key.hash)
            #expect(left.map(\.isLive) == [false, false, false] && left.map(\.version) == [3, 4, 3])
            #expect(try await store.target(phone) == nil)
            #expect(try await store.deadRegistrations(limit: 10).map(\.installation.keyHash) == [hash(2)])
            #expect(try await store.topicKey(ofRegistration: 1, prefixed: true) == nil)
            let other = try #require(try await store.reduceLiveTopics(into: [Int64]()) { rows, row, _ in rows.append(row) }.first)
            #expect(try await store.topicKey(ofRegistration: other, prefixed: true) != nil)
            #expect(
                try await store.state { $0.requests = [hash(1), hash(11)] }.responses.keys.sorted { $0.description < $1.description }
                    == [hash(11)])
            #expect(try await store.unfinishedRows().unreplied == [2])
            #expect(try await store.queuedPushCount() == 2)
            #expect(try await store.registrationSummaries(of: hash(2)).count { $0.isLive } == 1)
            #expect(Audit(try await store.auditFacts()).balances)

            // A second call forgets no further rows, and an old message registers no installation.
            #expect(try await store.forget(key, at: start).registrationCount == 0)
            #expect(try await store.version(of: phone)?.version == 3)
        }
    }

    @Test func `neither the database file nor the WAL contains forgotten data`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.open()
        try await fill(store)
        func sealedValues(_ condition: String) async throws -> [[UInt8]] {
            // The writer reads, because only the connection that is closed last deletes the WAL.
            try await store.queue.perform { [key] transaction in
                try ["registration", "dead_registration"].flatMap { table in
                    try transaction.database.all("SELECT secrets FROM \(table) WHERE secrets IS NOT NULL AND \(condition)", key.hash) {
                        try $0.next([UInt8].self)
                    }
                }
            }
        }
        let secrets = try await sealedValues("key_hash = ?") + [key.compressed.bytes]
        let others = try await sealedValues("key_hash <> ?")
        #expect(secrets.count > 2 && !others.isEmpty)
        _ = try await store.forget(key, at: start)
        await store.close()
        let file = try Data(contentsOf: URL(filePath: folder.database))
        for secret in secrets { #expect(file.firstRange(of: Data(secret)) == nil) }
        for secret in others { #expect(file.firstRange(of: Data(secret)) != nil) }
        #expect(!FileManager.default.fileExists(atPath: folder.database + "-wal"))
    }
}
