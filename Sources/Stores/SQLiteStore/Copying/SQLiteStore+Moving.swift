import GRDB
package import Store

/// The mark on a database whose rows were copied to another one. It is a migration that no version knows, so that earlier programs refuse
/// the database too.
enum MoveMark {
    private static let prefix = "moved to "

    /// Returns the path or URL of the other database; nil without a mark.
    static func place(_ database: Database) throws -> String? {
        try DatabaseMigrator().appliedIdentifiers(database).first { $0.hasPrefix(prefix) }.map { String($0.dropFirst(prefix.count)) }
    }

    static func set(_ database: Database, place: String) throws {
        try database.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)", arguments: [prefix + place])
    }

    static func remove(_ database: Database) throws {
        try database.execute(sql: "DELETE FROM grdb_migrations WHERE identifier LIKE ? || '%'", arguments: [prefix])
    }
}

extension SQLiteStore {
    /// The mark takes a second connection, because the store's own may only read. The caller holds the ``InstanceLock``.
    package func markMoved(to place: String) async throws {
        try Self.change(pool.path) { try MoveMark.set($0, place: place) }
    }

    /// Lifts the mark. The caller holds the ``InstanceLock``.
    ///
    /// - Returns: The path or URL of the other database; nil if there was no mark.
    package static func liftMark(ofDatabaseAt path: String) throws(StoreError) -> String? {
        try change(path) { database in
            let place = try MoveMark.place(database)
            try MoveMark.remove(database)
            return place
        }
    }

    /// Changes the database on a connection of its own.
    static func change<Result>(_ path: String, _ body: (Database) throws -> Result) throws(StoreError) -> Result {
        try DatabaseFile.find(path: path)
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(busyTimeoutSeconds)
            return try DatabaseQueue(path: path, configuration: configuration).write { database in
                guard try Schema.hasTables(database), try Schema.isOurs(database) else { throw StoreError.notADatabase }
                return try body(database)
            }
        } catch {
            throw StoreError(error)
        }
    }
}
