import SQLiteStore
import Store

/// The kind of store that a benchmark runs on.
package enum StoreKind: String, Sendable, CaseIterable {
    case sqlite
    case postgresql

    var label: String { self == .sqlite ? "SQLite" : "PostgreSQL" }
}

/// The database that one run works on.
enum RunDatabase: Sendable {
    case sqlite(path: String)
    case postgreSQL(PostgreSQLServer, name: String)

    /// - Parameter serverName: The name among the servers on a PostgreSQL database.
    func open(server serverName: String = "bench") throws -> any PushStore {
        switch self {
        case .sqlite(let path): try SeededStore.open(path)
        case .postgreSQL(let server, let name): try SeededPostgreSQL.open(server, name, serverName: serverName)
        }
    }

    /// The processor seconds that the database's own processes have used so far, or 0 for SQLite, which has no processes.
    var processorSeconds: Double {
        switch self {
        case .sqlite: 0
        case .postgreSQL(let server, _): server.processorSeconds
        }
    }

    /// The size of the WAL next to the database, in bytes, or 0 for PostgreSQL, whose WAL serves all its databases.
    var logByteCount: Int {
        switch self {
        case .sqlite(let path): SeededStore.byteCount(path + "-wal")
        case .postgreSQL: 0
        }
    }

    /// Returns the number of times that commits have waited for the disk so far.
    ///
    /// - Parameter store: The open store of this database, or the closed one; nil before the store is open.
    func syncCount(_ store: (any PushStore)? = nil) async throws -> Int {
        switch self {
        case .sqlite: return (store as? SQLiteStore)?.commitCount ?? 0
        case .postgreSQL(let server, let name):
            try await SeededPostgreSQL.waitForClients(of: name, server)
            return Int(try await server.query("SELECT wal_sync FROM pg_stat_wal")) ?? 0
        }
    }

    /// Returns the size of the database in bytes, once its store is closed, without the dead rows that PostgreSQL keeps until it vacuums.
    func compactByteCount() async throws -> Int {
        switch self {
        case .sqlite(let path): return SeededStore.byteCount(path)
        case .postgreSQL(let server, let name):
            try await server.query("VACUUM FULL", in: name)
            return try await SeededPostgreSQL.byteCount(of: name, server)
        }
    }
}
