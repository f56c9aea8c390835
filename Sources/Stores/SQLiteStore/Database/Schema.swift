import Bytes
import GRDB
import StatusCrypto
import Store

/// The versions of the tables, and the check that the database belongs to this program and identity. Each migration is one transaction.
struct Schema {
    /// `push` in ASCII, in SQLite's header, which distinguishes our files from those of other programs.
    static let applicationID: Int64 = 0x7075_7368

    private static let firstVersion = "0.1.0"
    private static let secondVersion = "0.2.0"
    private static let thirdVersion = "0.3.0"

    /// The server's compressed public key.
    let identity: FixedBytes<33>

    var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration(Self.firstVersion) { database in
            try database.execute(sql: Tables.first)
            try database.run("INSERT INTO identity (id, public_key, list_key) VALUES (1, ?, x'')", identity)
        }
        migrator.registerMigration(Self.secondVersion) { try $0.execute(sql: Tables.second) }
        migrator.registerMigration(Self.thirdVersion) { try $0.execute(sql: Tables.third) }
        return migrator
    }

    /// Returns whether any program has created tables. GRDB's own table does not count, because GRDB creates it before our first migration
    /// commits: a server that was killed in between creates the tables at its next start.
    static func hasTables(_ database: Database) throws -> Bool {
        try database.count("SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'") != 0
    }

    /// Returns whether this program has created the tables.
    static func isOurs(_ database: Database) throws -> Bool {
        try database.first("PRAGMA application_id", read: { try $0.next(Int64.self) }) == applicationID
    }

    /// Checks a database before the program writes to it.
    ///
    /// - Throws: `StoreError` if the database belongs to another program, identity or version, if 0.1.0 has not finished sealing it, or if
    ///   it is read-only and not set up.
    func check(_ database: Database) throws {
        guard try Self.hasTables(database) else {
            if database.configuration.readonly { throw StoreError.notSetUp }
            return
        }
        guard try Self.isOurs(database) else { throw StoreError.notADatabase }
        if let place = try MoveMark.place(database) { throw StoreError.moved(to: place) }
        let isOfFirstRelease = try FirstRelease.wrote(database)
        guard try isOfFirstRelease || !migrator.hasBeenSuperseded(database) else { throw StoreError.unknownSchema }
        let owner = try database.first("SELECT public_key FROM identity") { try $0.next(FixedBytes<33>.self) }
        guard owner == identity else { throw StoreError.otherIdentity }
        guard try !isOfFirstRelease || FirstRelease.hasCompleted(database) else { throw StoreError.unsealed }
        guard try !database.configuration.readonly || migrator.hasCompletedMigrations(database) else { throw StoreError.notSetUp }
    }

    /// Gives the tables of 0.1.0 the name of their version, by which later migrations know them.
    func adoptFirstRelease(_ database: Database) throws {
        guard try FirstRelease.wrote(database) else { return }
        try database.execute(sql: FirstRelease.lastTables)
        try database.run("DELETE FROM grdb_migrations")
        try database.run("INSERT INTO grdb_migrations (identifier) VALUES (?)", Self.firstVersion)
    }
}

/// The tables as 0.1.0 left them. It recorded the migrations with which they grew before the release. Two states of the tables call
/// themselves 0.1.0, and the earlier one lacks ``lastTables``.
private enum FirstRelease {
    private static let migrations: Set = [
        "first-release", "list-fingerprints", "gateways", "pushes-by-target", "tombstones", "deliveries", "superseded-replies",
        "nextcloud-origin", "deduplication-keys", "push-trust", "device-use", "device-evidence", "nextcloud-origin-calls", "sealing",
    ]
    private static let lastMigration = "unused-numbers"
    static let lastTables = """
        CREATE TABLE IF NOT EXISTS unused_number (
            table_name TEXT PRIMARY KEY,
            count INTEGER NOT NULL
        ) STRICT, WITHOUT ROWID;
        """

    /// Returns whether 0.1.0 or an earlier version wrote the database last.
    static func wrote(_ database: Database) throws -> Bool {
        let recorded = try recordedMigrations(database)
        return !recorded.isEmpty && recorded.isSubset(of: migrations.union([lastMigration]))
    }

    /// Returns whether the tables are those of 0.1.0, and each row is sealed.
    static func hasCompleted(_ database: Database) throws -> Bool {
        guard try recordedMigrations(database).isSuperset(of: migrations) else { return false }
        return try database.first("SELECT has_clear_rows FROM sealing") { try $0.next(Bool.self) } == false
    }

    private static func recordedMigrations(_ database: Database) throws -> Set<String> {
        try DatabaseMigrator().appliedIdentifiers(database)
    }
}
