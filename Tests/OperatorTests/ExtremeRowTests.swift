import Bytes
import Envelope
import Foundation
import GRDB
import Observation
import PushProtocol
import ServerCrypto
import ServerFiles
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Operator
@testable import PostgreSQLStore
@testable import SQLiteStore

/// Another role, another program or the disk may have changed any number of a row. No number ends the server or a command: at most it is a
/// reason why something is not shown or not done.
@Suite(.fewAtATime) struct ExtremeRowTests {
    /// The greatest ones and the first negative one, or with `--long` all at which some arithmetic ends.
    private static let numbers: [Int64] =
        ProcessInfo.processInfo.environment["EXTREME_ROWS"] == "all"
        ? [0, -1, 1 << 31, -(1 << 31), 1 << 62, -(1 << 62), .min, .max] : [-1, .min, .max]

    private static let databases = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../Databases")
    /// A time after the last event of the databases in that folder.
    private static let now = Timestamp(nanoseconds: 1_795_752_000_000_000_000)

    private static func sealingKeys(_ name: String) throws -> SealingKeys {
        let file = try TemporaryFolder().path("sealing.key")
        try FileManager.default.createDirectory(
            at: URL(filePath: file).deletingLastPathComponent(), withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: databases.appending(path: name + ".sealing.key"), to: URL(filePath: file))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        return try #require(try SealingKeyFile(path: file).load())
    }

    /// Rows for the tables that are empty in those databases. A name differs between the two: `text` is a literal.
    private static func filler(text: (String) -> String, blob: (String) -> String) -> [String] {
        let digest = String(repeating: "01", count: 32)
        return [
            "INSERT INTO clock (server_name, read_at, expected_at, held_for) VALUES (\(text("one")), 1, 2, 3)",
            "INSERT INTO delivering_day (day, unused_budget) VALUES (20000, 100)",
            "INSERT INTO checkpoint (pubsub_topic, received_until) VALUES (\(text("/waku/2/rs/16/32")), 1)",
            "INSERT INTO proven_token (token_digest, delivered_at) VALUES (\(blob(digest)), 1)",
            "INSERT INTO suspect_token (token_digest, suspected_at, tried_at) VALUES (\(blob(digest)), 1, 1)",
            "INSERT INTO damaged_row (kind, row) VALUES (\(text("push")), 1)",
        ]
    }

    // MARK: Everything that reads rows

    /// Opens every page, metric and report.
    private static func show(_ store: any PushStore & OperatorViews) async {
        let time = SteadyTime(clock: ManualClock(), start: now)
        let registry = PrometheusRegistry(StoreGauges.declarations)
        let reading = try? await StoreReading(store, wallClock: WallClock { now })
        if let reading { StoreGauges(registry: registry).set(reading, age: .zero) }
        _ = registry.render()
        var sources = StatusSources { .init($0, pushLifetime: "1h", shell: OperatorShell(publicKey: "0x02"), runbook: nil) }
        if let reading { sources.store = { (reading, .zero) } }
        let sampler = StatusSampler(
            sources, serverName: "one", publicKey: "0x04", file: .init(path: nil, owner: ""), time: time, wallClock: WallClock { now })
        let snapshot = sampler.snapshot()
        _ = try? StatusPage().html(snapshot)
        if let json = try? JSONEncoder().encode(snapshot) { _ = try? StatusScreen(json: json).lines(width: 80) }
        if let cluster = store.cluster { _ = try? await ClusterReport(reading: cluster, includesFenced: true, at: now).lines }
        _ = try? await AuditReport(reading: store) { _ in }.lines
        _ = try? await DeadTokensReport(limit: 10, reading: store).lines
        _ = try? await RegistrationCountsReport(since: nil, reading: store).lines
        _ = try? await RegistrationsReport(of: Digest64(repeating: 1), reading: store).lines
        _ = try? await TraceReport(ofMessage: [1, 2], reading: store).lines
        _ = try? await PushesReport(since: Timestamp(nanoseconds: .min), at: now, reading: store).lines
        _ = try? await store.cluster?.members()
    }

    /// Does what a server does with the rows.
    private static func serve(_ store: any PushStore & ClockStore & ProxyStore & OriginStore) async {
        for reading in [try? await store.clock()].compactMap({ $0 ?? nil }) { try? await store.save(reading) }
        let unfinished = try? await store.unfinishedRows()
        _ = try? await store.undecided(unfinished?.undecided ?? [])
        _ = try? await store.unreplied(unfinished?.unreplied ?? [])
        _ = try? await store.reduceLiveTopics(into: 0) { count, _, _ in count += 1 }
        _ = try? await store.cluster?.takePart()
        let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
        _ = try? await store.takeOverOutbox(routes: routes, latest: now)
        let due = (try? await store.duePushes(route: "ios", at: now, limit: 9)) ?? []
        _ = try? await store.nextAttempt(route: "ios")
        _ = try? await store.recentDevices(route: "ios", since: now.advanced(by: .seconds(-100_000)), limit: 9)
        _ = try? await store.suspicions(against: due.map(\.targetDigest), in: "ios")
        var update = OutboxUpdate()
        _ = try? await store.mark(due.map(\.id), until: now)
        _ = try? await store.bringForward(route: "ios", limit: 9, at: now)
        update.pushes = due.map { .init(id: $0.id, .retry(at: now, isUnknown: false)) }
        _ = try? await store.update(update, at: now)
        _ = try? await store.lookUp(DeviceCode(), route: "ios", at: now)
        let target = Installation(keyHash: Digest64(repeating: 1), installationID: "one")
        _ = try? await store.apply(
            at: now,
            loading: {
                var lookups = Lookups()
                lookups.registrations = [target]
                lookups.targets = [target: []]
                lookups.queries = [[target.keyHash]]
                return lookups
            }()
        ) { batch in
            _ = KeyCapacity.evicted(from: batch.state.live(beside: target), by: .init())
        }
        _ = try? await store.waitingProxies()
        _ = try? await store.resealNext()
        _ = try? await store.expirePushes(route: "ios", acceptedBefore: now.advanced(by: .seconds(-90_000)), limit: 9, at: now)
        _ = try? await store.prune(at: now)
        _ = try? await store.unregisterUnused(for: .seconds(86_400), after: 0, at: now)
    }

    /// Changes a column in all rows of a file, or in one if its numbers are unique.
    ///
    /// - Returns: Whether SQLite takes the number.
    private static func set(_ column: String, of table: String, to number: Int64, in path: String) throws -> Bool {
        let queue = try DatabaseQueue(path: path)
        defer { try? queue.close() }
        let ends = ["", " WHERE \(column) = (SELECT max(\(column)) FROM \(table))"]
        return ends.contains { end in
            (try? queue.write { try $0.execute(sql: "UPDATE \(table) SET \(column) = \(number)\(end)") }) != nil
        }
    }

    // MARK: The walk

    @Test func `no number of a row in a file ends the server or a command`() async throws {
        let folder = try TemporaryFolder()
        let (base, path) = (folder.path("base.sqlite"), folder.path("work.sqlite"))
        let keys = try Self.sealingKeys("c58eeae8")
        try FileManager.default.copyItem(at: Self.databases.appending(path: "c58eeae8.sqlite"), to: URL(filePath: base))
        let owner = try #require(try SQLiteStore.identity(ofDatabaseAt: base))
        await (try SQLiteStore(path: base, identity: owner, sealingKeys: keys, logger: quietLogger)).close()
        let columns: [(table: String, column: String)] = try {
            let queue = try DatabaseQueue(path: base)
            defer { try? queue.close() }
            return try queue.write { database in
                for sql in Self.filler(text: { "'\($0)'" }, blob: { "x'\($0)'" }) { try database.execute(sql: sql) }
                return try Row.fetchAll(
                    database,
                    sql: """
                        SELECT tables.name AS t, columns.name AS c FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns
                        WHERE tables.type = 'table' AND columns.type = 'INTEGER' AND tables.name NOT LIKE 'sqlite_%'
                        """
                ).map { ($0["t"], $0["c"]) }
            }
        }()
        #expect(columns.count > 60)
        for (table, column) in columns {
            for number in Self.numbers {
                for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
                try FileManager.default.copyItem(atPath: base, toPath: path)
                guard try Self.set(column, of: table, to: number, in: path) else { continue }
                guard let store = try? SQLiteStore(path: path, identity: owner, sealingKeys: keys, logger: quietLogger) else { continue }
                await Self.show(store)
                await Self.serve(store)
                await store.close()
            }
        }
    }

    @Test func `no number of a row in PostgreSQL ends the server or a command`() async throws {
        let keys = try Self.sealingKeys("c58eeae8.postgresql")
        let folder = try #require(ProcessInfo.processInfo.environment["TEST_POSTGRESQL"])
        let name = "rows-\(UInt64.random(in: 0 ... .max))"
        func parameters(_ database: String) -> [String: String] { ["host": folder, "user": "postgres", "dbname": database] }
        func run(_ sql: [String], in database: String) throws -> [Rows] {
            try Connection(parameters(database)).run(sql.map { Command($0) })
        }
        _ = try run(["CREATE DATABASE \"\(name)\""], in: "postgres")
        defer { _ = try? run(["DROP DATABASE \"\(name)\" WITH (FORCE)"], in: "postgres") }
        let dump = try String(contentsOf: Self.databases.appending(path: "c58eeae8.postgresql.sql"), encoding: .utf8)
        _ = try run(dump.components(separatedBy: ";\n").filter { !$0.isEmpty }, in: name)
        let owner = try #require(try PostgreSQLStore.identity(of: parameters(name)))
        func open() throws -> PostgreSQLStore {
            try PostgreSQLStore(parameters(name), identity: owner, sealingKeys: keys, serverName: "one", logger: quietLogger)
        }
        await (try open()).close()
        _ = try run(Self.filler(text: { "'\($0)'::bytea" }, blob: { "'\\x\($0)'::bytea" }), in: name)
        let columns = try run(
            [
                """
                SELECT convert_to(table_name, 'UTF8'), convert_to(column_name, 'UTF8') FROM information_schema.columns
                WHERE table_schema = 'public' AND data_type = 'bigint' ORDER BY 1, 2
                """
            ], in: name)[0].map { (table: try $0.next(String.self), column: try $0.next(String.self)) }
        #expect(columns.count > 60)
        for (table, columns) in Dictionary(grouping: columns, by: \.table).sorted(by: { $0.key < $1.key }) {
            // A start reads these rows, the other tables change under a running server.
            let needsStart = ["identity", "sealing", "sealing_key"].contains(table)
            var store = try open()
            _ = try run(["CREATE TABLE saved AS SELECT * FROM \(table)"], in: name)
            for column in columns.map(\.column) {
                for number in Self.numbers {
                    if needsStart { await store.close() }
                    let isChanged = (try? run(["UPDATE \(table) SET \(column) = \(number)"], in: name)) != nil
                    if needsStart, let opened = try? open() { store = opened }
                    if isChanged {
                        await Self.show(store)
                        await Self.serve(store)
                    }
                    _ = try run(
                        ["DELETE FROM \(table)", "INSERT INTO \(table) OVERRIDING SYSTEM VALUE SELECT * FROM saved"], in: name)
                }
            }
            await store.close()
            _ = try run(["DROP TABLE saved"], in: name)
        }
    }
}
