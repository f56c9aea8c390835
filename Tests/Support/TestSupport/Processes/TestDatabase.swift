import Foundation

/// The kinds of databases that the tests of whole servers run over.
package enum TestDatabase: String, CaseIterable, Sendable {
    case sqlite
    case postgresql

    /// Names the folder of the socket of a running PostgreSQL.
    static let socketVariable = "TEST_POSTGRESQL"

    package struct Unavailable: Error, CustomStringConvertible {
        package let description: String
    }

    /// Returns the settings of a server in a folder, with a new database of this kind.
    package func settings() async throws -> [String: String] {
        switch self {
        case .sqlite: [:]
        case .postgresql:
            try await Self.newPostgreSQL("server-\(UUID().uuidString.lowercased())")
        }
    }

    /// Returns the settings of a server in a folder. The first call makes the database, which is dropped with the folder.
    package func settings(in folder: TemporaryFolder) async throws -> [String: String] {
        guard self == .postgresql else { return [:] }
        let name = folder.url.lastPathComponent
        guard try await !Self.exists(name) else { return try Self.settings(ofPostgreSQL: name) }
        folder.atEnd { Task { try await Self.administer("DROP DATABASE \"\(name)\" WITH (FORCE)") } }
        return try await Self.newPostgreSQL(name)
    }

    /// Closes a database to everybody, or opens it again, as a PostgreSQL that stops and starts.
    ///
    /// - Parameter url: The setting `storage.url` of ``settings()``.
    package static func set(_ url: String, isReachable: Bool) async throws {
        let name = url.split(separator: "/")[2].prefix { $0 != "?" }
        try await administer("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS \(isReachable)")
        if !isReachable { try await administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'") }
    }

    private static func exists(_ name: String) async throws -> Bool {
        try await !administer("SELECT 1 FROM pg_database WHERE datname = '\(name)'").isEmpty
    }

    /// Runs a statement, and returns its rows without their heads.
    @discardableResult
    private static func administer(_ statement: String) async throws -> String {
        let arguments = ["-h", try socket(), "-U", "postgres", "-d", "postgres", "-t", "-c", statement]
        let ended = try await ChildProcess.run("/usr/bin/psql", arguments)
        guard ended.exitCode == 0 else { throw Unavailable(description: ended.error) }
        return ended.output
    }

    private static func socket() throws -> String {
        guard let socket = ProcessInfo.processInfo.environment[socketVariable] else {
            throw Unavailable(description: "\(socketVariable) has to name the folder of the socket of a running PostgreSQL")
        }
        return socket
    }

    private static func newPostgreSQL(_ name: String) async throws -> [String: String] {
        try await administer("CREATE DATABASE \"\(name)\"")
        return try settings(ofPostgreSQL: name)
    }

    private static func settings(ofPostgreSQL name: String) throws -> [String: String] {
        ["storage.kind": postgresql.rawValue, "storage.url": "postgresql://postgres@/\(name)?host=\(try socket())"]
    }
}
