import Bytes
import Foundation
import GRDB
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import PostgreSQLStore
@testable import SQLiteStore

/// Databases of earlier releases (RELIABILITY.md T11). The tests of disk faults interrupt the migration.
@Suite(.fewAtATime) struct UpgradeTests {
    @Test(arguments: EarlierRelease.all)
    func `an earlier database comes up with its registrations, and its waiting pushes are delivered`(release: EarlierRelease) async throws {
        let folder = try TemporaryFolder()
        try release.copy(to: folder)
        let store = try release.open(folder, release.sealingKeys())
        #expect(try await store.sealingProgress() == .sealed)
        #expect(try await store.registrationCount() == 3)
        let routes: Set = [RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios")]
        _ = try await store.takeOverOutbox(routes: routes, latest: release.later)
        let due = try await store.duePushes(route: "ios", at: release.later, limit: 9)
        #expect(due.map { String($0.push.deviceToken.text.prefix(2)) }.sorted() == ["ab", "ab", "bc", "de"])
        #expect(due.count { $0.notification == nil && !$0.push.chatID.isEmpty } == 3)
        try await store.change(due.map(\.id), to: .finish(.sent), at: release.later)
        #expect(Audit(try await store.auditFacts()).balances)
        await store.close()

        let again = try release.open(folder, release.sealingKeys())
        #expect(try await again.queuedPushCount() == 0)
        await again.close()
    }

    @Test func `the log says when a migration starts and that it ended`() async throws {
        let (folder, log, release) = (try TemporaryFolder(), LogLines(), EarlierRelease.sqlite)
        try release.copy(to: folder)
        let owner = try #require(try SQLiteStore.identity(ofDatabaseAt: folder.database))
        await (try folder.open(identity: owner, sealingKeys: release.sealingKeys(), logger: log.logger)).close()
        for text in ["migrating", "migrated"] {
            #expect(log.all.contains { $0.hasPrefix("notice \(text) the database ") && $0.contains("0.4.0") }, "\(log.all)")
        }
    }

    @Test(arguments: EarlierRelease.all)
    func `each value that an earlier release sealed opens when the key is rotated`(release: EarlierRelease) async throws {
        let folder = try TemporaryFolder()
        try release.copy(to: folder)
        let store = try release.open(folder, release.sealingKeys(rotatingTo: 2))
        while try await store.resealNext() != .sealed {}
        #expect(Audit(try await store.auditFacts()).balances)
        await store.close()
    }

    @Test(arguments: EarlierRelease.outdated)
    func `a database of 0.2.0 is rejected, and the error names the next step`(release: EarlierRelease) throws {
        let folder = try TemporaryFolder()
        try release.copy(to: folder)
        let error = #expect(throws: StoreError.outdatedSchema) { try release.open(folder, release.sealingKeys()) }
        #expect(error?.isConfigurationFault == true)
        #expect(error?.description.contains("let pushserver 0.3 open it once, then start this version") == true)
    }

    @Test func `an update does not wait in front of the running servers for a table that another session reads`() async throws {
        let (folder, release) = (try TemporaryFolder(), EarlierRelease.postgreSQL)
        try release.copy(to: folder)
        let other = try Connection(folder.newPostgreSQL())
        for statement in ["BEGIN", "LOCK TABLE push IN ACCESS SHARE MODE"] { _ = try other.run([Command(statement)]) }
        #expect(throws: StoreError.rowLocked(by: nil)) { try release.open(folder, release.sealingKeys()) }
        _ = try other.run([Command("ROLLBACK")])
        try await release.open(folder, release.sealingKeys()).close()
    }

    @Test func `a rotation that 0.3.0 started continues`() async throws {
        let folder = try TemporaryFolder()
        let release = EarlierRelease.postgreSQL
        try release.copy(to: folder)
        try release.execute("UPDATE sealing SET step = 3", folder)
        let store = try release.open(folder, release.sealingKeys())
        while try await store.resealNext() != .sealed {}
        await store.close()
    }

    @Test(arguments: [false, true])
    func `a database that 0.3.0 has not brought up to date completely is rejected`(readOnly: Bool) throws {
        let folder = try TemporaryFolder()
        let release = EarlierRelease.sqlite
        try release.copy(to: folder)
        try release.execute("DELETE FROM grdb_migrations WHERE identifier = '0.3.0'", folder)
        #expect(throws: StoreError.outdatedSchema) { try release.openSQLite(folder, release.sealingKeys(), readOnly: readOnly) }
    }

    @Test func `a tool refuses a database that the server has not brought up to date`() async throws {
        let folder = try TemporaryFolder()
        let release = EarlierRelease.sqlite
        try release.copy(to: folder)
        #expect(throws: StoreError.notSetUp) { try release.openSQLite(folder, nil, readOnly: true) }
        try await release.openSQLite(folder, release.sealingKeys()).close()
        try await release.openSQLite(folder, nil, readOnly: true).close()
    }

    @Test func `a tool refuses a PostgreSQL database that no server has brought up to date`() async throws {
        let (folder, release) = (try TemporaryFolder(), EarlierRelease.postgreSQL)
        try release.copy(to: folder)
        func open() throws -> PostgreSQLStore {
            try PostgreSQLStore(existing: folder.newPostgreSQL(), sealingKeys: nil, logger: quietLogger)
        }
        #expect(throws: StoreError.notSetUp) { try open() }
        try await release.open(folder, release.sealingKeys()).close()
        try await open().close()
    }

    @Test func `an updated SQLite database has the tables, columns and indexes of a new one`() async throws {
        var shapes: [[[DatabaseValue]]] = []
        for release in [nil, EarlierRelease.sqlite] {
            let folder = try TemporaryFolder()
            try release?.copy(to: folder)
            let store = try release.map { try $0.openSQLite(folder, $0.sealingKeys()) } ?? folder.open()
            shapes.append(
                try await store.read { database in
                    try Row.fetchAll(database, sql: Self.selectSQLiteShape).map { Array($0.databaseValues) }
                })
            await store.close()
        }
        #expect(shapes[0] == shapes[1])
    }

    private static let selectSQLiteShape = """
        SELECT tables.name, columns.name, columns.type, columns."notnull", columns.pk
        FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'
        UNION ALL SELECT name, tbl_name, sql, NULL, NULL FROM sqlite_schema WHERE type = 'index'
        UNION ALL SELECT 'grdb_migrations', identifier, NULL, NULL, NULL FROM grdb_migrations
        ORDER BY 1, 2
        """

    @Test func `an updated PostgreSQL database has the tables, columns and indexes of a new one`() async throws {
        let (folder, newFolder, release) = (try TemporaryFolder(), try TemporaryFolder(), EarlierRelease.postgreSQL)
        try release.copy(to: folder)
        try await release.open(folder, release.sealingKeys()).close()
        try await newFolder.openPostgreSQL().close()
        #expect(try Self.postgreSQLShape(of: folder.databaseName) == Self.postgreSQLShape(of: newFolder.databaseName))
    }

    @Test func `indexes are built while a server of 0.3.0 writes, also after an interrupted build`() async throws {
        let (folder, newFolder, release) = (try TemporaryFolder(), try TemporaryFolder(), EarlierRelease.postgreSQL)
        try release.copy(to: folder)
        let parameters = try folder.newPostgreSQL()
        let (server, other) = (try Connection(parameters), try Connection(parameters))
        // PostgreSQL builds an index that nobody waits for as an invalid one.
        try TestPostgreSQL().run("CREATE INDEX push_waiting ON push (id)", in: folder.databaseName)
        try TestPostgreSQL().run(
            "UPDATE pg_index SET indisvalid = false WHERE indexrelid = 'push_waiting'::regclass", in: folder.databaseName)
        _ = try server.run([Command("BEGIN"), Command("LOCK TABLE push IN ROW EXCLUSIVE MODE")])
        let opening = Task {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async { continuation.resume(returning: Result { try release.open(folder, release.sealingKeys()) }) }
            }
        }
        let waits = "SELECT 1 FROM pg_stat_activity WHERE query LIKE '%INDEX CONCURRENTLY%' AND wait_event_type = 'Lock'"
        while try other.run([Command(waits)])[0].count == 0 { try Task.checkCancellation() }
        _ = try other.run([Command("SET lock_timeout = '10s'")])
        _ = try other.run([Command("UPDATE push SET words = NULL")])
        _ = try server.run([Command("ROLLBACK")])
        try await opening.value.get().close()
        #expect(try server.run([Command("SELECT 1 FROM pg_index WHERE NOT indisvalid")])[0].count == 0)
        try await newFolder.openPostgreSQL().close()
        #expect(try Self.postgreSQLShape(of: folder.databaseName) == Self.postgreSQLShape(of: newFolder.databaseName))
    }

    /// Servers of 0.3.0 go on while one of this version changes the tables (RELIABILITY.md T11).
    @Test func `each statement of 0.3.0 finds its tables and columns after the change`() async throws {
        let folder = try TemporaryFolder()
        let release = EarlierRelease.postgreSQL
        try release.copy(to: folder)
        try await release.open(folder, release.sealingKeys()).close()
        let connection = try Connection(folder.newPostgreSQL())
        for statement in try release.statements() {
            #expect(throws: Never.self, "\(statement)") {
                _ = try connection.run([Command("PREPARE earlier AS \(statement)"), Command("DEALLOCATE earlier")])
            }
        }
    }

    @Test func `a server rejects the tables of a newer version`() async throws {
        let folder = try TemporaryFolder()
        try await folder.openPostgreSQL().close()
        try TestPostgreSQL().run("UPDATE identity SET schema_version = schema_version + 1", in: folder.databaseName)
        #expect(throws: StoreError.unknownSchema) { try folder.openPostgreSQL() }
        try TestPostgreSQL().run("UPDATE identity SET schema_version = schema_version - 1", in: folder.databaseName)
        try await folder.openPostgreSQL().close()
    }

    /// Returns the columns with their defaults, the indexes, the storage parameters and the version of a database.
    private static func postgreSQLShape(of database: String) throws -> [String] {
        let rows = try TestPostgreSQL().run(
            """
            SELECT convert_to(text, 'UTF8') FROM (
                SELECT concat_ws(' ', table_name, column_name, data_type, is_nullable, column_default) AS text
                    FROM information_schema.columns WHERE table_schema = 'public'
                UNION ALL SELECT indexdef FROM pg_indexes WHERE schemaname = 'public'
                UNION ALL SELECT relname || array_to_string(reloptions, ' ') FROM pg_class WHERE reloptions IS NOT NULL
                UNION ALL SELECT schema_version::text FROM identity
            ) AS shape ORDER BY text
            """,
            in: database)
        return try rows.map { try $0.next(String.self) }
    }
}
