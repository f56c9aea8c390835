import Bytes
import Envelope
import PushProtocol
import SQLiteStore
import Store
import TestSupport
import Testing

/// A clock that was a year ahead for a while, and is right again (RELIABILITY.md T6).
@Suite(.safetyNet)
struct FutureTimesTests {
    private static let future = start.advanced(by: .seconds(365 * 86_400))

    /// Times that nothing has to set back, because what reads them does not wait for them.
    private static let others: Set<String> = [
        "message.sent_at",  // as its sender says
        "push.next_attempt_at", "push.attempted_at",  // by the monotonic clock; each start limits the first
        "hole.started_at", "hole.ended_at", "hole.found_at", "hole_listing.listed_at", "checkpoint.received_until",  // `HistorySync`
        "clock.read_at", "clock.expected_at",  // `ClockSteps`
        "nextcloud_origin_device.last_seen",  // as Nextcloud says
    ]

    /// The times that are set back.
    private static let known = Set(
        TableOfTimes.all(SQLiteStore.Reading.dialect).flatMap { table in
            (table.past + table.deadlines.keys).map { "\(table.name).\($0)" }
        })

    /// Fills every table with rows of a time.
    private func fill(_ store: any StoreUnderTest.Store, at now: Timestamp) async throws {
        let messages = [try await store.record(1, at: now), try await store.record(2, at: now)]
        try await store.decide([messages[0]], as: .answered(reply()), at: now)
        for number in 1...2 { try await store.register(registration(installation(number), version: UInt64(number)), at: now) }
        try await store.enqueue((1...2).map { push($0) }, message: messages[0], at: now)
        try await store.change([1], to: .finish(.sent), at: now)
        var update = OutboxUpdate()
        var refused = OutboxUpdate.Push(id: 2, .retry(at: now, isUnknown: false))
        refused.refusals = PushRefusals(refusedAt: now)
        update.pushes = [refused]
        update.tokens = [
            .delivered(TargetRegistration(row: 1, version: 1)), .deliveredToken(hash(1)),
            .suspect(hash(2), Suspicion(since: now, refusedAt: now, firstCountedAt: now), route: "ios"),
        ]
        _ = try await store.update(update, at: now)
        let later = now.advanced(by: .seconds(1))
        _ = try await store.unregister(token: "device token 2", attemptedAt: later, at: now)
        try await store.hold([RouteHold(route: "ios", start: now, end: now.advanced(by: RouteHold.maximumLength))])
        for number in 1...2 {
            let device = ProxyStoreTests.device(number)
            try await store.changeDevice(device.identifier, at: now) { _ in
                var device = device
                (device.createdAt, device.updatedAt) = (now, now)
                return (.put(device), ())
            }
        }
        try await store.changeDevice(ProxyStoreTests.device(2).identifier, at: now) { _ in (.remove, ()) }
        var device = OriginStoreTests.device(1)
        device.createdAt = now
        try await store.changeOriginDevices(of: device.user) { [device] _ in (OriginChange(put: device), ()) }
        var waiting = OriginStoreTests.push(1)
        waiting.expiresAt = now.advanced(by: OriginPush.lifetime)
        try await store.acceptOriginPushes([waiting], of: device.user)
    }

    /// Returns the columns of the tables with a time after another one.
    private func columns(of store: any StoreUnderTest.Store, after time: Timestamp) async throws -> Set<String> {
        func columns<Shared: SharedStore>(_ store: Shared) async throws -> Set<String> {
            try await store.reading { database in
                var found: Set<String> = []
                for table in TableOfTimes.all(Shared.Reading.dialect) {
                    for (column, length) in table.past.map({ ($0, .zero) }) + table.deadlines.map({ ($0.key, $0.value) })
                    where try database.count("SELECT count(*) FROM \(table.name) WHERE \(column) > $1", time.advanced(by: length)) > 0 {
                        found.insert("\(table.name).\(column)")
                    }
                }
                return found
            }
        }
        let shared: any SharedStore = try #require(store as? any SharedStore)
        return try await columns(shared)
    }

    @Test(arguments: StoreUnderTest.all)
    func `every stored time of a clock that was ahead is set back, and then ages`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await fill(store, at: Self.future)
            #expect(try await columns(of: store, after: start) == Self.known)
            #expect(try await store.setBackFutureTimes(at: start) > 0)
            #expect(try await columns(of: store, after: start) == [])
            #expect(try await store.setBackFutureTimes(at: start) == 0)
            let later = start.advanced(by: DeadRegistration.lifetime + .seconds(1))
            _ = try await store.record(3, at: later)
            try await store.enqueue([push(3)], at: later)
            let pruned = try await store.prune(at: later)
            #expect(pruned.messageCount == 1 && pruned.pushCount == 2)
            #expect(try await store.deadRegistrations(limit: 9).isEmpty)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `times of a clock that is right stay`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store async throws in
            try await fill(store, at: start)
            #expect(try await store.setBackFutureTimes(at: start) == 0)
            // Another server's clock is a little ahead.
            #expect(try await store.setBackFutureTimes(at: start.advanced(by: .zero - Timestamp.pastTolerance)) == 0)
        }
    }

    @Test func `no column with a time is forgotten`() async throws {
        try await withSQLiteStore { store in
            let names = try await store.reading { database in
                try database.all(
                    """
                    SELECT tables.name || '.' || columns.name FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                    WHERE tables.type = 'table' AND (columns.name GLOB '*_at' OR columns.name IN ('last_seen', 'received_until'))
                    """
                ) { try $0.next(String.self) }
            }
            #expect(Set(names) == Self.others.union(Self.known))
        }
    }
}
