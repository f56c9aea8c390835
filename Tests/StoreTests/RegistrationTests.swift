import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.safetyNet)
struct RegistrationTests {
    @Test func `Registrations come back with all of their fields, also after the store was opened again`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.open()
        let count = 2_000
        for first in stride(from: 0, to: count, by: 500) {
            try await store.commit { transaction throws in
                for number in first..<first + 500 {
                    try transaction.register(
                        registration(installation(number, key: number / 2), version: UInt64(number + 1)), topics: topics, at: start)
                }
            }
        }
        await store.close()
        store = try folder.open()

        #expect(try await store.registrationCount() == count)
        try await store.commit { transaction throws in
            for number in 0..<count {
                let installation = installation(number, key: number / 2)
                let sent = registration(installation, version: UInt64(number + 1))
                #expect(
                    try transaction.storedVersion(of: installation)
                        == StoredVersion(
                            version: sent.content.version, plaintextDigest: sent.plaintextDigest, isRegistered: true))
                #expect(try transaction.pushTarget(installation) == target(sent.content))
                let queryable = try transaction.registrations(of: installation.keyHash)
                #expect(queryable.count == 2)
                #expect(queryable.contains(self.queryable(sent.content)))
            }
        }
        await store.close()
    }

    @Test func `Empty lists and texts come back empty`() async throws {
        try await withStore { store in
            try await store.register(registration())  // has lists, which have to go
            var sent = registration(version: 2)
            sent.content.allowedKeyList = []
            sent.content.blockedChatList = []
            sent.content.mutedChatList = []
            sent.content.allowedMentionsChatList = []
            sent.content.apnTopic = ""
            sent.content.grant = []
            sent.content.enabled = false
            sent.content.blockMentions = false
            sent.content.allowFromContactsOnly = false
            sent.content.tokenType = TokenType(rawValue: -7)
            try await store.register(sent)
            let content = sent.content
            try await store.commit { transaction throws in
                #expect(try transaction.pushTarget(installation()) == target(content))
                #expect(try transaction.registrations(of: hash(1)) == [queryable(content)])
            }
        }
    }

    @Test(arguments: [1, 1 << 62, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max])
    func `Versions keep their value over the whole range`(version: UInt64) async throws {
        try await withStore { store in
            try await store.register(registration(version: version))
            try await store.commit { transaction throws in
                #expect(try transaction.storedVersion(of: installation())?.version == version)
                #expect(try transaction.registrations(of: hash(1)).map(\.version) == [version])
                try transaction.unregister(installation(), version: version, plaintextDigest: hash(1), at: start)
                #expect(try transaction.storedVersion(of: installation())?.version == version)
            }
        }
    }

    @Test func `An installation keeps its row through every registration and tombstone`() async throws {
        try await withStore { store in
            let row = try await store.register(registration(version: 1))
            let other = try await store.register(registration(installation(2)))
            #expect(row != other)
            #expect(try await store.register(registration(version: 2)) == row)
            let unregistered = try await store.commit {
                try $0.unregister(installation(), version: 3, plaintextDigest: hash(3), at: start)
            }
            #expect(unregistered == row)
            #expect(try await store.register(registration(version: 4)) == row)
            #expect(try await store.keyHash(ofRegistration: row) == hash(1))
            #expect(try await store.keyHash(ofRegistration: 99) == nil)
        }
    }

    @Test func `A tombstone keeps key hash, installation, version and digest, and nothing else`() async throws {
        try await withStore { store in
            let row = try await store.register(registration())
            try await store.saveTopicKey(FixedBytes(repeating: 9), keyHash: hash(1), prefixed: false)
            _ = try await store.commit { try $0.unregister(installation(), version: 2, plaintextDigest: hash(22), at: start) }

            try await store.commit { transaction throws in
                #expect(
                    try transaction.storedVersion(of: installation())
                        == StoredVersion(version: 2, plaintextDigest: hash(22), isRegistered: false))
                #expect(try transaction.pushTarget(installation()) == nil)
                #expect(try transaction.registrations(of: hash(1)) == [])
                #expect(try transaction.liveInstallationCount(of: hash(1), except: "") == 0)
                let kept = try transaction.database.first("SELECT * FROM registration") { row in
                    (0..<18).filter { !row.isNull($0) }
                }
                #expect(kept == Array(0..<9))
                for table in ["allowed_keys", "query_topic", "topic_key"] {
                    #expect(try transaction.database.count("SELECT count(*) FROM \(table)") == 0)
                }
                #expect(try transaction.unregister(installation(), version: 3, plaintextDigest: hash(3), at: start) == nil)
            }
            #expect(try await store.keyHash(ofRegistration: row) == hash(1))
        }
    }

    @Test func `A tombstone is left also where nothing was registered`() async throws {
        try await withStore { store in
            let row = try await store.commit { try $0.unregister(installation(), version: 5, plaintextDigest: hash(5), at: start) }
            #expect(row == nil)
            let stored = try await store.commit { try $0.storedVersion(of: installation()) }
            #expect(stored == StoredVersion(version: 5, plaintextDigest: hash(5), isRegistered: false))
        }
    }

    @Test func `Topic keys stay while another installation of the key is registered`() async throws {
        try await withStore { store in
            try await store.register(registration(installation(1)))
            try await store.register(registration(installation(2)))
            try await store.saveTopicKey(FixedBytes(repeating: 9), keyHash: hash(1), prefixed: true)
            _ = try await store.commit { try $0.unregister(installation(1), version: 2, plaintextDigest: hash(2), at: start) }
            #expect(try await store.topicKey(keyHash: hash(1), prefixed: true) == FixedBytes(repeating: 9))
        }
    }

    @Test func `Installations of a key are counted without the one that asks, tombstones and other keys`() async throws {
        try await withStore { store in
            for number in 1...4 { try await store.register(registration(installation(number))) }
            try await store.register(registration(installation(9, key: 2)))
            let counts = try await store.commit { transaction throws in
                try transaction.unregister(installation(4), version: 2, plaintextDigest: hash(2), at: start)
                return try [installation(1), installation(4), installation(8)].map {
                    try transaction.liveInstallationCount(of: hash(1), except: $0.installationID)
                }
            }
            #expect(counts == [2, 3, 3])
        }
    }

    @Test func `Installation ids are told apart to the last character, NUL among them`() async throws {
        try await withStore { store in
            let ids = ["a", "a\0", "a\0b", "A", "ä", "a\u{308}"]
            for (number, id) in ids.enumerated() {
                let installation = Installation(keyHash: hash(1), installationID: id)
                try await store.register(registration(installation, version: UInt64(number + 1)))
            }
            let found = try await store.commit { try $0.registrations(of: hash(1)) }
            #expect(Set(found.map { Array($0.installationID.utf8) }) == Set(ids.map { Array($0.utf8) }))
        }
    }

    @Test func `A dead token takes every registration with it that had it before the attempt, and leaves their versions`() async throws {
        try await withStore { store in
            let attempt = start.advanced(by: .seconds(10))
            func registration(_ number: Int, token: String) -> Registration {
                var registration = StoreTests.registration(installation(number, key: number), version: UInt64(number))
                registration.content.deviceToken = token
                return registration
            }
            let token = "0123456789abcdef-dead"
            try await store.register(registration(1, token: token))
            try await store.register(registration(2, token: token))
            try await store.register(registration(3, token: "0123456789abcdef-alive"))
            try await store.register(registration(4, token: token), at: attempt)
            let rows = try await store.commit { transaction in
                func bury(_ type: TokenType) throws -> [ChangedRegistration] {
                    try transaction.bury(token, type: type, registeredBefore: attempt, reason: "Unregistered", route: "ios", at: attempt)
                }
                #expect(try bury(.firebase) == [])
                return try bury(.apn)
            }
            #expect(Set(rows) == Set([1, 2].map { ChangedRegistration(registration: $0, topics: topics) }))
            try await store.commit { transaction throws in
                for number in 1...4 {
                    let stored = try transaction.storedVersion(of: installation(number, key: number))
                    #expect(stored?.isRegistered == (number > 2))
                    #expect(stored?.version == UInt64(number))
                }
            }
        }
    }

    @Test func `A push request finds its target without the table of allowed keys`() async throws {
        try await withStore { store in
            try await store.register(registration())
            try await store.commit { transaction throws in
                try transaction.database.execute(sql: "DROP TABLE allowed_keys")
                #expect(try transaction.pushTarget(installation()) == target(registration().content))
                #expect(throws: (any Error).self) { try transaction.registrations(of: hash(1)) }
            }
        }
    }

    private func target(_ content: PushNotificationRegistration) -> PushTarget {
        var target = PushTarget()
        target.accessToken = content.accessToken
        target.enabled = content.enabled
        target.tokenType = content.tokenType
        target.deviceToken = content.deviceToken
        target.apnTopic = content.apnTopic
        target.blockMentions = content.blockMentions
        target.blockedChatList = content.blockedChatList
        target.mutedChatList = content.mutedChatList
        target.allowedMentionsChatList = content.allowedMentionsChatList
        return target
    }

    private func queryable(_ content: PushNotificationRegistration) -> QueryableRegistration {
        var registration = QueryableRegistration()
        registration.installationID = content.installationID
        registration.accessToken = content.accessToken
        registration.grant = content.grant
        registration.version = content.version
        registration.allowFromContactsOnly = content.allowFromContactsOnly
        registration.allowedKeyList = content.allowedKeyList
        return registration
    }
}
