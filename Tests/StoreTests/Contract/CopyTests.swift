import Envelope
import Logging
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore
@testable import SQLiteStore

/// The copy of all rows from a file to PostgreSQL and back.
@Suite(.safetyNet) struct CopyTests {
    private struct Interruption: Error {}

    @Test func `a database that went to PostgreSQL and back has everything that was stored`() async throws {
        let (first, last) = (try TemporaryFolder(), try TemporaryFolder())
        let secrets = PlantedSecrets()
        let original = try first.open()
        try await secrets.plant(in: original)
        let undecided = try await original.record(1_000)
        try await original.save(HistoryProgress(of: "/waku/2/rs/16/1", checkpoint: start))
        let hold = RouteHold(route: "ios", start: start, end: start.advanced(by: .seconds(60)))
        try await original.hold([hold])
        let rows = try await Self.rows(of: original)

        try await first.copyToPostgreSQL(from: original)
        await original.close()
        let copy = try PostgreSQLStore(
            existing: TestPostgreSQL().parameters(first.databaseName), sealingKeys: sealingKeys(1), logger: quietLogger)
        #expect(try await Self.rows(of: copy) == rows)
        await copy.close()
        let middle = try first.openPostgreSQL()
        #expect(try await middle.unfinishedRows().undecided == [undecided])
        try await secrets.expectComplete(in: middle)
        // A rejected duplicate consumes a number of PostgreSQL's sequence.
        #expect(try await middle.record([(hash(1), envelope(1)), (hash(1_000), envelope(1_000))], at: start) == [nil, nil])
        #expect(try await middle.record(1_001) > undecided)
        try await middle.enqueue([push(400)])

        let returned = try SQLiteStore(
            path: last.database, identity: identity, sealingKeys: nil, isCopy: true, logger: quietLogger)
        _ = try await StoreCopy.run(from: middle, to: returned) { _, _, _ in }
        await middle.close()
        await returned.close()
        let store = try last.open()
        #expect(try await store.unfinishedRows().undecided.count == 2)
        #expect(try await store.record([(hash(1), envelope(1)), (hash(1_001), envelope(1_001))], at: start) == [nil, nil])
        #expect(try await store.checkpoints(of: "/waku/2/rs/16/1")["/waku/2/rs/16/1"] == start)
        #expect(try await store.routeHolds() == [hold])
        let facts = try await store.auditFacts()
        #expect(Audit(facts).balances && facts.openCount == 82, "\(Audit(facts).lines.filter { !$0.balances })")
        _ = try await store.record(1_002)
        #expect(Audit(try await store.auditFacts()).balances)
        try await store.change([Int64(facts.pushRowsEver ?? 0)], to: .finish(.sent))
        try await secrets.expectComplete(in: store)
        await store.close()
    }

    @Test func `a copy that is interrupted after any table begins again, and no server starts on it meanwhile`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        try await PlantedSecrets().plant(in: original)
        let rows = try await Self.rows(of: original)
        for table in CopiedTable.all.map(\.name) {
            await #expect(throws: Interruption.self) {
                try await folder.copyToPostgreSQL(from: original) { if $0 == table { throw Interruption() } }
            }
            #expect(throws: StoreError.incompleteCopy) { try folder.openPostgreSQL() }
        }
        try await folder.copyToPostgreSQL(from: original)
        await original.close()
        let copy = try folder.openPostgreSQL()
        #expect(try await Self.rows(of: copy) == rows)
        await copy.close()
        #expect(throws: StoreError.otherIdentity) {
            try PostgreSQLStore(copyingTo: TestPostgreSQL().parameters(folder.databaseName), logger: quietLogger)
        }
    }

    @Test func `the source is marked before the copy is complete, so that never both are usable`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        let copy = try PostgreSQLStore(copyingTo: folder.newPostgreSQL(), logger: quietLogger)
        await #expect(throws: Interruption.self) {
            _ = try await StoreCopy.run(from: original, to: copy, beforeCompleting: { throw Interruption() }, report: { _, _, _ in })
        }
        #expect(throws: StoreError.incompleteCopy) { try folder.openPostgreSQL() }
        await copy.close()
        await original.close()
    }

    @Test func `a row that the copy loses keeps the destination incomplete`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        _ = try await original.record(1)
        await #expect(throws: CopyDifference.self) {
            try await folder.copyToPostgreSQL(from: original) {
                if $0 == "ledger" { try TestPostgreSQL().run("DELETE FROM message", in: folder.databaseName) }
            }
        }
        #expect(throws: StoreError.incompleteCopy) { try folder.openPostgreSQL() }
        await original.close()
    }

    @Test func `a server takes over unfinished work although the tool was killed at the end of the copy`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        let message = try await original.record(1)
        try await original.enqueue([push()])
        let copy = try PostgreSQLStore(copyingTo: folder.newPostgreSQL(), logger: quietLogger)
        _ = try await StoreCopy.run(from: original, to: copy) { _, _, _ in }
        let server = try folder.openPostgreSQL()
        #expect(try await server.unfinishedRows().undecided == [message])
        #expect(try await server.takeOverOutbox(routes: [], latest: start) == 0)
        #expect(try await server.duePushes(route: "", at: start, limit: 9).count == 1)
        await copy.close()
        await server.close()
        await original.close()
    }

    @Test func `while rows are copied, no copy begins and no server joins; the errors name the lock's holder`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.openPostgreSQL()
        var parameters = try folder.newPostgreSQL()
        parameters["application_name"] = "the copy"
        var lock: OperatorLock? = try OperatorLock(parameters)
        func expectLocked(_ body: () async throws -> Void) async {
            let error = await #expect(throws: StoreError.self) { try await body() }
            if case .locked(let holder?) = error {
                #expect(holder.hasPrefix("the copy (process "), "\(holder)")
            } else {
                Issue.record("the error names no holder: \(String(describing: error))")
            }
        }
        await expectLocked { _ = try OperatorLock(parameters) }
        await expectLocked { _ = try folder.openPostgreSQL(serverName: "two") }
        try await server.pool.perform(.writing) { $0.add("UPDATE server SET is_fenced = true") }
        await expectLocked { _ = try await server.takePart() }
        withExtendedLifetime(lock) {}
        lock = nil
        _ = try await server.takePart()
        let second = try folder.openPostgreSQL(serverName: "two")
        await second.close()
        await server.close()
    }

    @Test func `a copy into a database that another copy has emptied meanwhile does not complete it`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.open()
        let copies = try (1...2).map { _ in try PostgreSQLStore(copyingTo: folder.newPostgreSQL(), logger: quietLogger) }
        await #expect(throws: StoreError.incompleteCopy) { try await copies[0].complete(original.copiedDatabase()) }
        _ = try await StoreCopy.run(from: original, to: copies[1]) { _, _, _ in }
        for copy in copies { await copy.close() }
        await original.close()
        await (try folder.openPostgreSQL()).close()
    }

    @Test func `a sealed database is not copied without its keys`() async throws {
        let folder = try TemporaryFolder()
        await (try folder.open()).close()
        let locked = try folder.open(sealingKeys: nil, readOnly: true)
        await #expect(throws: StoreError.sealingKeyMissing) { try await folder.copyToPostgreSQL(from: locked) }
        await locked.close()
    }

    /// Returns all rows of all tables as sets, because the kinds of stores return them in different orders. The result omits values that
    /// differ between the kinds.
    private static func rows(of store: any CopyableStore) async throws -> [String: Set<[CopiedValue]>] {
        var all: [String: Set<[CopiedValue]>] = [:]
        for table in CopiedTable.all {
            var position: [CopiedValue]?
            repeat {
                let page = try await store.rows(of: table, after: position, limit: 7)
                let round = table.name == "push" ? table.columns.firstIndex { $0.name == "next_attempt_at" } : nil
                for var row in page.rows {
                    if let round { row[round] = .null }
                    all[table.name, default: []].insert(row)
                }
                position = page.position
            } while position != nil
        }
        return all
    }
}

extension TemporaryFolder {
    /// Copies a store into the PostgreSQL database that belongs to the folder.
    ///
    /// - Parameter report: A function that is called with the name of each copied table.
    fileprivate func copyToPostgreSQL(from store: any CopyableStore, report: (String) throws -> Void = { _ in }) async throws {
        let copy = try PostgreSQLStore(copyingTo: newPostgreSQL(), logger: quietLogger)
        do {
            _ = try await StoreCopy.run(from: store, to: copy) { table, _, _ in try report(table) }
        } catch {
            await copy.close()
            throw error
        }
        await copy.close()
    }
}
