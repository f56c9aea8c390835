import Envelope
import PostgreSQLStore
import PushProtocol
import Store
import TestSupport
import Testing

/// What is removed because it was not used for a lifetime.
@Suite(.fewAtATime) struct UnusedTests {
    private static let day = Duration.seconds(86_400)

    private static func day(_ number: Int) -> Timestamp { start.advanced(by: day * number) }

    /// - Returns: The number of registrations that were removed.
    private func remove(from store: any PushStore, after days: Int, on number: Int) async throws -> Int {
        try await store.unregisterUnused(for: Self.day * days, after: 0, at: Self.day(number)).gone.count
    }

    private func deliver(_ rows: some Sequence<Int64>, in store: any PushStore, at now: Timestamp) async throws {
        var update = OutboxUpdate()
        update.tokens = rows.map { .delivered(TargetRegistration(row: $0, version: 1)) }
        _ = try await store.update(update, at: now)
    }

    @Test(arguments: StoreUnderTest.all)
    func `a lifetime is counted in the days on which the server could deliver`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.register(registration(installation(1)), at: Self.day(0))
            try await store.register(registration(installation(2)), at: Self.day(1))
            #expect(try await remove(from: store, after: 3, on: 1) == 0)
            // Many looks on a day are one day.
            for _ in 1...3 { #expect(try await remove(from: store, after: 3, on: 2) == 0) }
            // The server was away for 200 days, or its clock is wrong by so much.
            #expect(try await remove(from: store, after: 4, on: 202) == 0)
            #expect(try await remove(from: store, after: 3, on: 202) == 1)
            #expect(try await store.version(of: installation(2))?.isRegistered == true)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `a day has a budget for what was ever delivered to, which a restart keeps`(kind: StoreUnderTest) async throws {
        let folder = try TemporaryFolder()
        var store = try kind.open(folder)
        for number in 1...160 { try await store.register(registration(installation(number, key: number))) }
        try await deliver(1...130, in: store, at: Self.day(0))
        // Those that were never delivered to cost none of it.
        #expect(try await remove(from: store, after: 1, on: 1) == 100 + 30)
        await store.close()
        store = try kind.open(folder)
        #expect(try await remove(from: store, after: 1, on: 1) == 0)
        #expect(try await remove(from: store, after: 1, on: 2) == 30)
        await store.close()
    }

    @Test(arguments: StoreUnderTest.all)
    func `a clock that was set back does not make a delivery older`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            let row = try await store.register(registration(installation(1)), at: Self.day(0))
            try await deliver([row], in: store, at: Self.day(5))
            try await deliver([row], in: store, at: Self.day(0))
            #expect(try await remove(from: store, after: 1, on: 5) == 0)
            #expect(try await remove(from: store, after: 1, on: 6) == 1)
        }
    }

    @Test(arguments: [1, 40, 250, 20_000], StoreUnderTest.all)
    func `what a clock that was behind has dated lives as long as anything new once it is right`(
        behind: Int, kind: StoreUnderTest
    ) async throws {
        try await kind.withStore { store in
            let lifetime = 30
            // The days from which the server has run for years.
            for number in -300...0 { #expect(try await remove(from: store, after: lifetime, on: number) == 0) }
            for number in 1...2 { try await store.register(registration(installation(number)), at: Self.day(0)) }
            try await deliver([2], in: store, at: Self.day(0))
            // The clock is behind, and believed: all times are set back to its own, and one more phone registers.
            _ = try await store.setBackFutureTimes(at: Self.day(-behind))
            if behind != 40 { #expect(try await remove(from: store, after: lifetime, on: -behind) == 0) }
            try await store.register(registration(installation(3)), at: Self.day(-behind))
            // It is right again.
            _ = try await store.setBackFutureTimes(at: Self.day(1))
            for number in 1..<lifetime { #expect(try await remove(from: store, after: lifetime, on: number) == 0, "day \(number)") }
            #expect(try await remove(from: store, after: lifetime, on: lifetime + 1) == 3)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the clock of a server is kept, and a new server gets the newest one`(kind: StoreUnderTest) async throws {
        let folder = try TemporaryFolder()
        let store = try kind.open(folder)
        #expect(try await store.clock() == nil)
        let clocks = [
            StoredClock(readAt: Self.day(1)), StoredClock(readAt: Self.day(3), expectedAt: Self.day(1), heldFor: .seconds(90)),
        ]
        for clock in clocks {
            try await store.save(clock)
            #expect(try await store.clock() == clock)
        }
        await store.close()
    }

    @Test func `each server of a database has a clock of its own, and reads that of the database`() async throws {
        let (folder, clock) = (try TemporaryFolder(), ManualClock())
        let one = try folder.openPostgreSQL(serverName: "one", clock: clock)
        let two = try folder.openPostgreSQL(serverName: "two", clock: clock)
        try await one.save(StoredClock(readAt: Self.day(1)))
        #expect(try await two.clock() == StoredClock(readAt: Self.day(1)))
        try await two.save(StoredClock(readAt: Self.day(200)))
        #expect(try await one.clock() == StoredClock(readAt: Self.day(1)))
        #expect(try await two.clock() == StoredClock(readAt: Self.day(200)))
        #expect(one.databaseTime == nil)
        _ = try await one.takePart()
        let read = try #require(one.databaseTime)
        clock.advance(by: .seconds(4))
        #expect(one.databaseTime == read.advanced(by: .seconds(4)))
        // A reading that is not renewed says nothing.
        clock.advance(by: .seconds(1))
        #expect(one.databaseTime == nil)
        await one.close()
        await two.close()
    }

    @Test(arguments: [Int64.min, Int64.min + 1, -1, 0, 1, Int64.max])
    func `any number of a row is a time and a day`(number: Int64) {
        let time = DeliveringDays.start(of: number)
        let now = Timestamp(nanoseconds: number)
        #expect(DeliveringDays.start(of: DeliveringDays.day(of: now)) <= now)
        _ = (DeliveringDays.day(of: time), DeliveringDays.count(in: .seconds(number)))
    }
}
