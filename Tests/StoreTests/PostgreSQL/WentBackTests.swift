import Envelope
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A database that goes back in time: a standby is promoted that has not received everything.
@Suite(.fewAtATime) struct WentBackTests {
    /// A primary and its standby, and a store that uses whichever accepts writes.
    struct World {
        let primary: PostgreSQLProcess
        let standby: PostgreSQLProcess

        init() async throws {
            primary = try await PostgreSQLProcess.start()
            standby = try await primary.startStandby()
        }

        func open(_ name: String) throws -> PostgreSQLStore {
            let settings = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
            return try PostgreSQLStore(
                PostgreSQLLocation(url: settings["storage.url"] ?? "").connection(password: nil, name: "test"), identity: identity,
                sealingKeys: sealingKeys(1), serverName: name, logger: quietLogger)
        }

        func failOver() async throws {
            await primary.kill()
            try await standby.promote()
        }

        func stop() async {
            await primary.stop()
            await standby.stop()
        }
    }

    /// Writes until the database can be reached again.
    static func write(to store: PostgreSQLStore) async throws {
        while true {
            do {
                return try await store.probe()
            } catch StoreError.unreachable, StoreError.unavailable {
                try Task.checkCancellation()
            }
        }
    }

    @Test func `after a failover that lost writes, each store refuses everything, and the next one knows what is lost`() async throws {
        let world = try await World()
        let stores = [try world.open("one"), try world.open("two")]
        for store in stores { try await Self.write(to: store) }
        #expect(try await stores[0].lostTimes() == [])
        try await world.primary.detach(world.standby)
        for store in stores { try await Self.write(to: store) }
        try await world.failOver()
        for (store, name) in zip(stores, ["one", "two"]) {
            let error = try #require(await #expect(throws: StoreError.self) { try await Self.write(to: store) })
            guard case .wentBack(let lost) = error else {
                Issue.record(error)
                continue
            }
            #expect(lost.start < lost.end && lost.end <= lost.noticedAt)
            #expect(error.description.contains("the database has gone back in time: what was written from 20"))
            await #expect(throws: error) { _ = try await store.unfinishedRows() }
            await store.close()
            let next = try world.open(name)
            try await Self.write(to: next)
            #expect(try await next.lostTimes() == [lost])
            await next.close()
        }
        await world.stop()
    }

    @Test func `a failover to a standby that has everything, and a restart, lose nothing`() async throws {
        let world = try await World()
        let store = try world.open("one")
        try await Self.write(to: store)
        await world.primary.stop()
        try await world.primary.start()
        try await Self.write(to: store)
        try await world.failOver()
        try await Self.write(to: store)
        #expect(try await store.lostTimes() == [])
        await store.close()
        await world.stop()
    }

    @Test func `open pushes from long before a loss end as restored`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        try await store.enqueue([push(1), push(2)])
        try await store.enqueue([push(3)], at: start.advanced(by: .seconds(3_600)))
        #expect(try await store.endRestoredPushes(acceptedBefore: start.advanced(by: .seconds(60)), at: start) == 2)
        #expect(try await store.endRestoredPushes(acceptedBefore: start.advanced(by: .seconds(60)), at: start) == 0)
        #expect(try await store.queuedPushCount() == 1)
        #expect(Audit(try await store.auditFacts()).balances)
        await store.close()
    }

    // MARK: Marks

    /// Returns the database's time.
    static func now(_ slot: ConnectionSlot) throws -> Timestamp {
        let query = "SELECT \(NewestMark.nanoseconds("now()"))"
        return try #require(try slot.perform(.reading) { try $0.first(query) { try $0.next(Timestamp.self) } })
    }

    static func write(_ slot: ConnectionSlot) throws {
        try slot.perform(.writing) {
            $0.add("INSERT INTO probe (id, count) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = probe.count + 1")
        }
    }

    @Test(arguments: [(0, true), (22, true), (24, false), (48, false), (168, false)])
    func `a missing mark older than a day proves nothing, because it was pruned`(hours: Int, isProof: Bool) throws {
        let folder = try TemporaryFolder()
        let parameters = try folder.newPostgreSQL()
        _ = try PostgreSQLStore(parameters, identity: identity, sealingKeys: sealingKeys(1), serverName: "one", logger: quietLogger)
        let mark = NewestMark(serverName: "one")
        let slot = ConnectionSlot(parameters, newestMark: mark)
        mark.committed(.init(writer: 1, sequence: 1), at: try Self.now(slot).advanced(by: .seconds(-3_600 * hours)), on: slot)
        func write() throws { try slot.perform(.writing) { $0.add("UPDATE probe SET count = 1") } }
        if isProof {
            #expect(throws: StoreError.self) { try write() }
            #expect(throws: StoreError.self) { _ = try slot.perform(.reading) { try $0.count("SELECT 1") } }
        } else {
            try write()
        }
    }

    @Test(arguments: 0...1) func `of two connections each one's missing mark is a proof`(missing: Int) throws {
        let folder = try TemporaryFolder()
        let parameters = try folder.newPostgreSQL()
        _ = try PostgreSQLStore(parameters, identity: identity, sealingKeys: sealingKeys(1), serverName: "one", logger: quietLogger)
        let mark = NewestMark(serverName: "one")
        let slots = (0...2).map { _ in ConnectionSlot(parameters, newestMark: mark) }
        for slot in slots.prefix(2) { try Self.write(slot) }
        try ConnectionSlot(parameters).perform(.writing) { database in
            let older = Int64(1 - missing)
            database.add(
                "DELETE FROM last_write WHERE writer = (SELECT writer FROM last_write ORDER BY written_at DESC OFFSET $1 LIMIT 1)", older)
        }
        #expect(throws: StoreError.self) { try Self.write(slots[2]) }
    }

    @Test func `a connection that stays is compared once a minute`() throws {
        let folder = try TemporaryFolder()
        let parameters = try folder.newPostgreSQL()
        _ = try PostgreSQLStore(parameters, identity: identity, sealingKeys: sealingKeys(1), serverName: "one", logger: quietLogger)
        let clock = ManualClock()
        let slot = ConnectionSlot(
            parameters, newestMark: NewestMark(serverName: "one", time: SteadyTime(clock: clock, start: Timestamp(nanoseconds: 0))))
        let other = ConnectionSlot(parameters)
        for _ in 1...3 {
            try Self.write(slot)
            clock.advance(by: NewestMark.interval)
        }
        try Self.write(slot)
        try other.perform(.writing) { $0.add("DELETE FROM last_write") }
        clock.advance(by: NewestMark.interval - .seconds(1))
        // It leaves a mark of its own, which is lost as well.
        try Self.write(slot)
        try other.perform(.writing) { $0.add("DELETE FROM last_write") }
        clock.advance(by: .seconds(1))
        #expect(throws: StoreError.self) { try Self.write(slot) }
    }
}
