import Bytes
import GRDB
import StatusCrypto
import Store

/// The versions of the tables, and the check that the database belongs to this program and identity.
struct Schema {
    /// `push` in ASCII, in SQLite's header, which distinguishes our files from those of other programs.
    static let applicationID: Int64 = 0x7075_7368

    /// The version whose tables this program changes into its own. It refuses older ones.
    private static let earlierVersion = "0.3.0"

    /// The server's compressed public key.
    let identity: FixedBytes<33>

    /// The versions that a database names, and the changes to those of 0.3.0. Each migration is one transaction.
    var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        for version in ["0.1.0", "0.2.0", Self.earlierVersion] { migrator.registerMigration(version) { _ in } }
        migrator.registerMigration("0.4.0") { try $0.execute(sql: Tables.changes) }
        return migrator
    }

    /// Creates the tables of a new database, with the names of all migrations.
    ///
    /// - Returns: Whether the database is new.
    func createTables(_ database: Database) throws -> Bool {
        guard try !Self.hasTables(database) else { return false }
        try database.execute(sql: Tables.all)
        try database.run("INSERT INTO identity (id, public_key) VALUES (1, ?)", identity)
        try database.execute(sql: "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
        for version in migrator.migrations { try database.run("INSERT INTO grdb_migrations (identifier) VALUES (?)", version) }
        return true
    }

    /// Returns whether any program has created tables. GRDB's own table does not count.
    static func hasTables(_ database: Database) throws -> Bool {
        try database.count("SELECT count(*) FROM sqlite_schema WHERE tbl_name <> 'grdb_migrations'") != 0
    }

    /// Returns whether this program has created the tables.
    static func isOurs(_ database: Database) throws -> Bool {
        try database.first("PRAGMA application_id", read: { try $0.next(Int64.self) }) == applicationID
    }

    /// Checks a database before the program writes to it.
    ///
    /// - Throws: `StoreError` if the database belongs to another program, identity or version, or if it is read-only and not set up.
    func check(_ database: Database) throws {
        guard try Self.hasTables(database) else {
            if database.configuration.readonly { throw StoreError.notSetUp }
            return
        }
        guard try Self.isOurs(database) else { throw StoreError.notADatabase }
        if let place = try MoveMark.place(database) { throw StoreError.moved(to: place) }
        let versions = try migrator.appliedIdentifiers(database)
        guard versions.contains(Self.earlierVersion) else { throw StoreError.outdatedSchema }
        guard try !migrator.hasBeenSuperseded(database) else { throw StoreError.unknownSchema }
        let owner = try database.first("SELECT public_key FROM identity") { try $0.next(FixedBytes<33>.self) }
        guard owner == identity else { throw StoreError.otherIdentity }
        guard try !database.configuration.readonly || migrator.hasCompletedMigrations(database) else { throw StoreError.notSetUp }
    }
}
