import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@Suite(.safetyNet)
struct RegistrationTests {
    @Test(arguments: StoreUnderTest.all)
    func `registrations keep all of their fields, also after the store was reopened`(kind: StoreUnderTest) async throws {
        let folder = try TemporaryFolder()
        var store = try kind.open(folder)
        let sent = (0..<200).map { number in
            registration(installation(number, key: number / 2), version: UInt64(number + 1))
        }
        try await store.apply(at: start) { batch in
            for registration in sent { batch.register(registration, topics: topics) }
        }
        await store.close()
        store = try kind.open(folder)

        #expect(try await store.registrationCount() == sent.count)
        let state = try await store.state { lookups in
            lookups.registrations = Set(sent.map(\.installation))
            for registration in sent { lookups.targets[registration.installation] = listEntries }
            lookups.queries = sent.map { [$0.keyHash] }
        }
        for registration in sent {
            let content = registration.content
            #expect(
                state.versions[registration.installation]
                    == StoredVersion(version: content.version, plaintextDigest: registration.plaintextDigest, isRegistered: true))
            #expect(state.targets[registration.installation]?.content == PushTarget(content))
            #expect(state.targets[registration.installation]?.registeredAt == start)
            #expect(state.queryable[registration.keyHash]?.count == 2)
            #expect(state.queryable[registration.keyHash]?.content.contains(QueryableRegistration(content)) == true)
        }
        await store.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `empty lists and texts are read as empty`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration())  // has lists, which the store must delete
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
            #expect(try await store.target()?.content == PushTarget(sent.content))
            #expect(try await store.queryable()?.content == [QueryableRegistration(sent.content)])
        }
    }

    @Test(arguments: StoreUnderTest.all, [1, 1 << 62, UInt64(Int64.max), UInt64(Int64.max) + 1, .max - 1, .max])
    func `versions keep their value over the whole range`(kind: StoreUnderTest, version: UInt64) async throws {
        try await kind.withStore { store in
            try await store.register(registration(version: version))
            #expect(try await store.version()?.version == version)
            #expect(try await store.queryable()?.map(\.version) == [version])
            try await store.unregister(version: version)
            #expect(try await store.version()?.version == version)
            #expect(try await store.registrationSummaries(of: hash(1)).map(\.version) == [version])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an installation keeps its row through every registration and tombstone`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(version: 1))
            let other = try await store.register(registration(installation(2)))
            #expect(row != other)
            #expect(try await store.register(registration(version: 2)) == row)
            #expect(try await store.unregister(version: 3) == row)
            #expect(try await store.register(registration(version: 4)) == row)
            #expect(try await store.keyHash(ofRegistration: row) == hash(1))
            #expect(try await store.keyHash(ofRegistration: 99) == nil)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a tombstone keeps key hash, installation, version and digest, and nothing else`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            let row = try await store.register(registration())
            try await store.unregister(version: 2, plaintextDigest: hash(22))
            #expect(try await store.version() == StoredVersion(version: 2, plaintextDigest: hash(22), isRegistered: false))
            #expect(try await store.target() == nil)
            #expect(try await store.queryable()?.content == [])
            #expect(try await store.registrationCount() == 0)
            #expect(try await store.unregister(version: 3) == nil)
            #expect(try await store.keyHash(ofRegistration: row) == hash(1))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an unregistration without a registration leaves a tombstone`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            #expect(try await store.unregister(version: 5, plaintextDigest: hash(5)) == nil)
            #expect(try await store.version() == StoredVersion(version: 5, plaintextDigest: hash(5), isRegistered: false))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the count of installations leaves out the installation itself, tombstones and other keys`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            for number in 1...4 { try await store.register(registration(installation(number))) }
            try await store.register(registration(installation(9, key: 2)))
            try await store.unregister(installation(4), version: 2)
            let asking = [installation(1), installation(4), installation(8)]
            let state = try await store.state { $0.registrations = Set(asking) }
            #expect(asking.map { state.live(beside: $0).count } == [2, 3, 3])
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `installation ids are distinguished by every character, including NUL`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let ids = ["a", "a\0", "a\0b", "A", "ä", "a\u{308}"]
            for (number, id) in ids.enumerated() {
                let installation = Installation(keyHash: hash(1), installationID: id)
                try await store.register(registration(installation, version: UInt64(number + 1)))
            }
            let found = try await store.queryable() ?? []
            #expect(Set(found.map { Array($0.installationID.utf8) }) == Set(ids.map { Array($0.utf8) }))
            #expect(found.count == ids.count)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `registrations of a time are counted from its first instant`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await store.register(registration(installation(1)))
            try await store.unregister(installation(2), version: 4)
            let device = ProxyStoreTests.device(1)
            try await store.changeDevice(device.identifier, at: start) { _ in (.put(device), ()) }
            var originDevice = OriginStoreTests.device(1)
            originDevice.createdAt = start
            try await store.changeOriginDevices(of: "Alice") { [originDevice] _ in (OriginChange(put: originDevice), ()) }
            let all = RegistrationCounts(live: [.apn: 1], tombstones: 1, nextcloud: 1, nextcloudOrigin: 1)
            #expect(try await store.registrationCounts(since: start) == all)
            #expect(try await store.registrationCounts(since: start.advanced(by: .nanoseconds(1))) == RegistrationCounts())
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `an operator sees the number of registrations, and those of a key without secrets`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1, key: 1)))
            try await store.register(registration(installation(2, key: 2), version: 3))
            try await store.unregister(installation(3, key: 2), version: 4)
            #expect(try await store.registrationCounts() == RegistrationCounts(live: [.apn: 2], tombstones: 1))
            let summaries = try await store.registrationSummaries(of: hash(2))
            #expect(summaries.map(\.installationID) == ["installation-2", "installation-3"])
            #expect(summaries.map(\.isLive) == [true, false])
            #expect(summaries.map(\.version) == [3, 4])
            #expect(!"\(summaries)".contains("token 3"))
        }
    }
}
