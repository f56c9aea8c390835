import Bytes
import GRDB
import GRDBSQLite

/// SQLite's own defences against a database file that somebody else made (https://www.sqlite.org/security.html).
///
/// A hostile file can define views and triggers that run when a tool reads or writes a table, and values of a gigabyte. `query_only` does
/// the work of `SQLITE_DBCONFIG_DEFENSIVE` here, because nothing is ever written through these connections.
enum UntrustedDatabase {
    /// The longest value that SQLite returns, twice the largest registration. A longer value counts as an error in its row.
    static let maximumValueByteCount: Int32 = 2 << 20

    /// The configuration for a connection that only reads.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            _ = unsafe sqlite3_limit(database.sqliteConnection, SQLITE_LIMIT_LENGTH, maximumValueByteCount)
            try database.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA query_only = ON")
        }
        return configuration
    }

    /// Refuses a file with views, triggers or generated columns, which no database of this server has.
    ///
    /// - Parameter name: The path that the operator knows.
    /// - Throws: ``Failure``, also when the file is no SQLite database.
    static func checkThatItHasTablesOnly(_ path: String, of name: String) throws(Failure) {
        let object: String?
        do {
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            defer { try? queue.close() }
            object = try queue.read { database in
                try String.fetchOne(
                    database,
                    sql: """
                        SELECT type || ' ' || name FROM sqlite_schema
                        WHERE type NOT IN ('table', 'index') OR sql LIKE 'CREATE VIRTUAL%'
                        UNION ALL
                        SELECT 'generated column ' || columns.name
                        FROM sqlite_schema AS tables JOIN pragma_table_xinfo(tables.name) AS columns
                        WHERE tables.type = 'table' AND columns.hidden <> 0
                        """)
            }
        } catch {
            throw .failed("\(name) cannot be read: \((error as? DatabaseError)?.message ?? "\(error)")")
        }
        guard let object else { return }
        throw .configuration("\(name) has a \(object.printable), and no database of pushserver has one. Who made the file?")
    }
}
