import Foundation

/// The kinds of databases with which the tests of complete servers run.
package enum TestDatabase: String, CaseIterable, Sendable {
    case sqlite
    case postgresql

    /// The environment variable with the folder of a running PostgreSQL's socket.
    static let socketVariable = "TEST_POSTGRESQL"

    package struct Unavailable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns the settings of a server with a new database of this kind.
    package func settings() async throws -> [String: String] {
        switch self {
        case .sqlite: [:]
        case .postgresql:
            try await Self.newPostgreSQL("server-\(UUID().uuidString.lowercased())")
        }
    }

    /// Returns the settings of a server in a folder. The first call creates the database, and the removal of the folder drops it.
    package func settings(in folder: TemporaryFolder) async throws -> [String: String] {
        guard self == .postgresql else { return [:] }
        let name = folder.url.lastPathComponent
        guard try await !Self.exists(name) else { return try Self.settings(ofPostgreSQL: name) }
        folder.atEnd { Task { try await Self.administer("DROP DATABASE \"\(name)\" WITH (FORCE)") } }
        return try await Self.newPostgreSQL(name)
    }

    /// Creates a PostgreSQL database, which the removal of the folder drops. Its clock stands still, so that leases end only when a test
    /// ends them: a function replaces PostgreSQL's own, because the search path names its schema first.
    ///
    /// - Returns: The parameters of a connection.
    package static func newPostgreSQL(in folder: TemporaryFolder) async throws -> [String: String] {
        _ = try await postgresql.settings(in: folder)
        let name = folder.url.lastPathComponent
        try await administer(
            "CREATE FUNCTION now() RETURNS timestamptz LANGUAGE sql STABLE AS $$ SELECT timestamptz '2026-01-01' $$", in: name)
        return ["host": try socket(), "user": "postgres", "dbname": name, "options": "-c search_path=public,pg_catalog"]
    }

    /// Ends all connections to a database and rejects new ones, or accepts connections again. This simulates a restart of PostgreSQL.
    ///
    /// - Parameter url: The setting `storage.url` of ``settings()``.
    package static func set(_ url: String, isReachable: Bool) async throws {
        let name = url.split(separator: "/")[2].prefix { $0 != "?" }
        try await administer("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS \(isReachable)")
        if !isReachable { try await administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'") }
    }

    /// Makes PostgreSQL say to each connection of a new database that the system has another version of its collations.
    ///
    /// - Parameter url: The setting `storage.url` of ``settings()``.
    package static func setWrongCollation(_ url: String) async throws {
        let name = url.split(separator: "/")[2].prefix { $0 != "?" }
        try await administer("DROP DATABASE \"\(name)\"")
        try await administer(
            "CREATE DATABASE \"\(name)\" TEMPLATE template0 LOCALE_PROVIDER icu ICU_LOCALE 'en-US' LOCALE 'C' ENCODING 'UTF8'")
        try await administer("UPDATE pg_database SET datcollversion = '1' WHERE datname = '\(name)'")
    }

    private static func exists(_ name: String) async throws -> Bool {
        try await !administer("SELECT 1 FROM pg_database WHERE datname = '\(name)'").isEmpty
    }

    /// Runs a statement, and returns its rows without column names.
    @discardableResult
    private static func administer(_ statement: String, in database: String = "postgres") async throws -> String {
        let arguments = ["-h", try socket(), "-U", "postgres", "-d", database, "-t", "-c", statement]
        let ended = try await ChildProcess.run("/usr/bin/psql", arguments)
        guard ended.exitCode == 0 else { throw Unavailable(description: ended.error) }
        return ended.output
    }

    private static func socket() throws -> String {
        guard let socket = ProcessInfo.processInfo.environment[socketVariable] else {
            throw Unavailable(description: "\(socketVariable) is missing; set it to the folder of a running PostgreSQL's socket")
        }
        return socket
    }

    private static func newPostgreSQL(_ name: String) async throws -> [String: String] {
        try await administer("CREATE DATABASE \"\(name)\"")
        return try settings(ofPostgreSQL: name)
    }

    private static func settings(ofPostgreSQL name: String) throws -> [String: String] {
        // A busy machine may take longer to answer than a command waits by default.
        let url = "postgresql://postgres@/\(name)?host=\(try socket())&connect_timeout=60"
        return ["storage.kind": postgresql.rawValue, "storage.url": url]
    }
}
