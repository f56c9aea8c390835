import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import PostgreSQLStore
@testable import SQLiteStore

/// Jobs that take the rows in portions, with a portion and one more: the rest is not forgotten.
@Suite(.fewAtATime) struct PortionTests {
    /// One more than re-sealing takes at a time.
    private static let sealedCount = 501
    /// One more than pruning and the copy take at a time; the newest row of a table stays.
    private static let prunedCount = 1_002
    private static let later = start.advanced(by: .seconds(10))

    private static func device(_ number: Int) -> ProxyDevice {
        ProxyDevice(
            identifier: DeviceIdentifier(hash(number)), userKey: GatewayVectors.publicKey("user_alice"), pushTokenHash: hash(number),
            platform: .ios, token: "token", topic: "topic", voipToken: nil, voipTopic: nil, createdAt: start, updatedAt: start)
    }

    /// Registers that many installations of one dead token, and unregisters them all.
    private static func addDeadRegistrations(_ count: Int, to store: any PushStore) async throws {
        try await store.apply(at: start) { batch in
            for number in 1...count {
                var dead = registration(installation(number, key: number))
                dead.content.deviceToken = "dead"
                batch.register(dead, topics: topics)
            }
        }
        #expect(try await store.unregister(token: "dead", attemptedAt: later, at: later).count == count)
    }

    private static func addDevices(_ count: Int, to store: any ProxyStore) async throws {
        for number in 1...count {
            try await store.changeDevice(device(number).identifier, at: start) { _ in (.put(device(number)), ()) }
        }
    }

    @Test(arguments: SealableStore.all)
    func `no row of any table needs the old key after a rotation`(kind: SealableStore) async throws {
        let folder = try TemporaryFolder()
        let count = Self.sealedCount
        let first = try kind.open(folder, sealingKeys(1))
        try await Self.addDeadRegistrations(count, to: first)
        let live = (1...count).map { registration(installation(count + $0, key: count + $0)) }
        try await first.apply(at: start) { batch in for registration in live { batch.register(registration, topics: topics) } }
        let messages = try await first.record((1...count).map { (hash($0), envelope($0)) }, at: start).compactMap(\.self)
        try await first.apply(at: start) { batch in
            for (index, message) in messages.enumerated() { batch.decide(message, as: .answered(reply(1, status: hash(index)))) }
        }
        try await first.enqueue((1...count).map { push($0) })
        try await Self.addDevices(count, to: first)
        for number in 1...count { _ = try await first.addOriginUserKey([1], of: "user \(number)") }
        try await first.changeOriginDevices(of: "Alice") { _ in (OriginChange(put: OriginStoreTests.device(1)), ()) }
        try await first.acceptOriginPushes((1...count).map { OriginStoreTests.push(1, "\($0)") }, of: "Alice")
        await first.close()

        let store = try kind.open(folder, sealingKeys(2, 1))
        while try await store.resealNext() != .sealed {}
        await store.close()
        let later = try kind.open(folder, sealingKeys(2))
        let wanted = Dictionary(uniqueKeysWithValues: live.map { ($0.installation, Set<[UInt8]>()) })
        #expect(try await later.state { $0.targets = wanted }.targets.count == count)
        #expect(try await later.deadRegistrations(limit: 2 * count).count == count)
        _ = try await later.unfinishedRows()
        #expect(try await later.unreplied(messages).count == count)
        _ = try await later.takeOverOutbox(routes: [], latest: start)
        #expect(try await later.duePushes(route: "", at: start, limit: 2 * count).count == count)
        let devices = try await later.devices(Set((1...count).map { Self.device($0).identifier }), removedSince: start)
        #expect(devices.known.values.count { if case .readable(let device) = $0 { device.token == "token" } else { false } } == count)
        for number in 1...count { #expect(try await later.originUserKey(of: "user \(number)") == [1]) }
        _ = try await later.waitingProxies()
        #expect(try await later.waitingOriginPushes(to: "https://a", limit: 2 * count).count == count)
        await later.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `pruning that is called as long as it is bounded leaves nothing that is due, in any table`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let count = Self.prunedCount
            func pruneAll() async throws -> [Pruned] {
                var all: [Pruned] = []
                repeat { all.append(try await store.prune(at: Timestamp(nanoseconds: .max))) } while all.last?.isBounded ?? false
                return all
            }
            let messages = try await store.record((1...count).map { (hash($0), envelope($0)) }, at: start).compactMap(\.self)
            try await store.decide(messages, as: .silent)
            #expect(try await pruneAll().map(\.messageCount).reduce(0, +) == count - 1)

            var update = OutboxUpdate()
            update.tokens = (1...count).map { .suspect(hash($0), Suspicion(since: start, refusedAt: start), route: "") }
            _ = try await store.update(update, at: start)
            _ = try await pruneAll()
            #expect(try await store.suspicions(against: (1...count).map { hash($0) }, in: "").byTarget.isEmpty)

            try await Self.addDeadRegistrations(count, to: store)
            _ = try await pruneAll()
            #expect(try await store.deadRegistrations(limit: count).isEmpty)

            try await Self.addDevices(count, to: store)
            let identifiers = Set((1...count).map { Self.device($0).identifier })
            for identifier in identifiers { try await store.changeDevice(identifier, at: start) { _ in (.remove, ()) } }
            #expect(try await store.devices(identifiers, removedSince: start).removed.count == count)
            _ = try await pruneAll()
            #expect(try await store.devices(identifiers, removedSince: start).removed.isEmpty)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the search for unused registrations comes to the last one`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let count = 2_001
            try await store.apply(at: start) { batch in
                for number in 1...count { batch.register(registration(installation(number, key: number)), topics: topics) }
            }
            let day = Duration.seconds(86_400)
            var (gone, row): (Set<Int64>, Int64) = ([], 0)
            repeat {
                let unused = try await store.unregisterUnused(for: day, after: row, at: start.advanced(by: day))
                gone.formUnion(unused.gone.map(\.registration))
                row = unused.lastRow
            } while row > 0
            #expect(gone.count == count)
            #expect(try await store.registrationCounts().live.values.reduce(0, +) == 0)
        }
    }

    @Test func `a copy to another kind of store has the rows of every page`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        _ = try await original.record((1...Self.prunedCount).map { (hash($0), envelope($0)) }, at: start)
        let copy = try PostgreSQLStore(copyingTo: folder.newPostgreSQL(), logger: quietLogger)
        #expect(try await StoreCopy.run(from: original, to: copy) { _, _, _ in }["message"] == Self.prunedCount)
        await copy.close()
        await original.close()
        let store = try folder.openPostgreSQL()
        #expect(try await store.unfinishedRows().undecided.count == Self.prunedCount)
        await store.close()
    }

    /// A start reads 10,000 rows at a time, and a takeover moves 5,000 pushes.
    @Test func `a server of a cluster learns all topics, and takes over all pushes of another one`() async throws {
        try await Cluster.with { cluster in
            let (registrations, pushes) = (10_001, 5_001)
            try await cluster.one.register(registration())
            try await cluster.one.enqueue([push()])
            func multiply(_ table: String, _ count: Int, _ changes: String) async throws {
                try await cluster.run(
                    """
                    INSERT INTO \(table) OVERRIDING SYSTEM VALUE SELECT copy.* FROM \(table) AS one, generate_series(2, \(count)) AS number,
                        LATERAL jsonb_populate_record(one, jsonb_build_object('id', number, \(changes))) AS copy
                    """)
            }
            try await multiply("registration", registrations, "'key_hash', '\\x' || lpad(to_hex(number), 128, '0')")
            try await multiply("push", pushes, "'deduplication_key', '\\x' || lpad(to_hex(number), 64, '0')")
            let found = try await cluster.two.reduceLiveTopics(into: Set<Int64>()) { found, registration, _ in found.insert(registration) }
            #expect(found.count == registrations)
            #expect(try await cluster.fenceOne().pushCount == pushes)
        }
    }
}
