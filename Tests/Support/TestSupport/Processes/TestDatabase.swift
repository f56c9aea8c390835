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
            ["storage.kind": rawValue, "storage.url": try await Self.newPostgreSQL()]
        }
    }

    /// Closes a database to everybody, or opens it again, as a PostgreSQL that stops and starts.
    ///
    /// - Parameter url: The setting `storage.url` of ``settings()``.
    package static func set(_ url: String, isReachable: Bool) async throws {
        let name = url.split(separator: "/")[2].prefix { $0 != "?" }
        try await administer("ALTER DATABASE \"\(name)\" ALLOW_CONNECTIONS \(isReachable)")
        if !isReachable { try await administer("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'") }
    }

    private static func administer(_ statement: String) async throws {
        let arguments = ["-h", try socket(), "-U", "postgres", "-d", "postgres", "-c", statement]
        let ended = try await ChildProcess.run("/usr/bin/psql", arguments)
        guard ended.exitCode == 0 else { throw Unavailable(description: ended.error) }
    }

    private static func socket() throws -> String {
        guard let socket = ProcessInfo.processInfo.environment[socketVariable] else {
            throw Unavailable(description: "\(socketVariable) has to name the folder of the socket of a running PostgreSQL")
        }
        return socket
    }

    private static func newPostgreSQL() async throws -> String {
        let socket = try socket()
        let name = "server-\(UUID().uuidString.lowercased())"
        try await administer("CREATE DATABASE \"\(name)\"")
        return "postgresql://postgres@/\(name)?host=\(socket)"
    }
}
