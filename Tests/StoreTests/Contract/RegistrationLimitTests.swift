import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

/// The limits of a key's rows, and the time for which they stay.
@Suite(.safetyNet)
struct RegistrationLimitTests {
    @Test(arguments: StoreUnderTest.all)
    func `the state of a key contains all its installations, without their lists`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            try await store.register(registration(installation(2)))
            try await store.unregister(installation(2), version: 2)
            try await store.unregister(installation(3), version: 2)
            try await store.register(registration(installation(4, key: 2)))
            let content = registration().content
            let live = LiveInstallation(
                version: StoredVersion(version: 1, plaintextDigest: registration().plaintextDigest, isRegistered: true),
                registeredAt: start,
                listByteCount: content.listByteCount, contactByteCount: content.contactByteCount)
            let state = try await store.state { $0.registrations = [installation(9)] }
            #expect(
                state.installations == [
                    hash(1): [
                        installation(1): .live(live), installation(2): .tombstone, installation(3): .unknownTombstone,
                    ]
                ])
            let key = RegisteringKey(listByteCount: content.listByteCount, rowCount: 3, isKnown: true)
            #expect(state.key(beside: installation(9)) == key)
            #expect(state.key(beside: installation(1)) == RegisteringKey(rowCount: 2, isKnown: true))
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a key is proven once a push was delivered to one of its installations`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)))
            try await store.register(registration(installation(2)))
            func isProven() async throws -> [Bool] {
                let state = try await store.state { $0.registrations = [installation(1), installation(2)] }
                return [1, 2, 3].map { state.key(beside: installation($0)).isProven }
            }
            #expect(try await isProven() == [false, false, false])
            var update = OutboxUpdate()
            update.tokens = [.delivered(TargetRegistration(row: 1, version: 1))]
            _ = try await store.update(update, at: start)
            #expect(try await isProven() == [true, true, true])
        }
    }

    /// 600 unregistrations of unknown installations once left 600 rows permanently.
    @Test(arguments: StoreUnderTest.all)
    func `the newest tombstones without a registration stay, and all tombstones of real registrations`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let limit = ProtocolLimits.maximumUnknownTombstonesPerKey
            try await store.register(registration(installation(1)))
            try await store.unregister(installation(1), version: 2)
            for number in 2...100 {
                try await store.unregister(installation(number), version: 1, at: start.advanced(by: .seconds(number)))
            }
            // A tombstone that the client repeats is new again, and that of a real registration is real.
            try await store.unregister(installation(85), version: 2, at: start.advanced(by: .seconds(200)))
            try await store.register(registration(installation(86)))
            try await store.unregister(installation(86), version: 2)
            for number in 101...110 {
                try await store.unregister(installation(number), version: 1, at: start.advanced(by: .seconds(200 + number)))
            }
            let left = try await store.registrationSummaries(of: hash(1)).map(\.installationID)
            #expect(left.count == limit + 2)
            for number in [1, 85, 86, 101, 110] { #expect(left.contains(installation(number).installationID), "\(number)") }
            #expect(try await store.version(of: installation(1))?.version == 2)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the storage is full above its limit, which is checked for registrations only`(kind: StoreUnderTest) async throws {
        func isFull(_ store: any PushStore, _ maximum: Int?, asking: Bool = true) async throws -> Bool {
            try await store.state { lookups in
                if asking { lookups.registrations = [installation()] }
                lookups.maximumStoredByteCount = maximum
            }.isStorageFull
        }
        // A store may check its size only at times, but always when it is opened.
        try await kind.withCrash { store async throws in
            #expect(try await isFull(store, 1_000))
            #expect(try await !isFull(store, 1_000, asking: false))
            #expect(try await !isFull(store, 10_000_000))
            #expect(try await !isFull(store, nil))
            var large = registration()
            // A database may compress repeated bytes.
            var random = SplitMix64(seed: 1)
            large.content.allowedKeyList = (0..<10_000).map { _ in (random.fixedBytes() as FixedBytes<1_000>).bytes }
            try await store.register(large)
        } after: { store async throws in
            #expect(try await isFull(store, 10_000_000))
        }
    }
}
