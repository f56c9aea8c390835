import Foundation
import GRDB
import TestSupport

@testable import PostgreSQLStore

/// A server's database, read by the test, whether the server runs or not.
struct ServerDatabase: Sendable {
    /// The path of an SQLite file, or the URL of a PostgreSQL database, as `pushctl --database` takes it.
    let location: String
    /// The folder whose changes show changes of an SQLite file. For PostgreSQL, the test polls instead.
    private let folder: String

    init(path: String) {
        (location, folder) = (path, URL(filePath: path).deletingLastPathComponent().path())
    }

    init(of server: ServerProcess) { self.init(of: server.launched) }

    init(of server: Launched<ServerProcess.Addresses>) {
        (location, folder) = (server.database, server.folder.path(""))
    }

    private var isPostgreSQL: Bool { location.hasPrefix("postgresql:") }

    /// - Parameter rows: A table, optionally with a condition on its rows.
    func count(_ rows: String) throws -> Int { try open()("SELECT count(*) FROM \(rows)") }

    /// Returns the number of events that the ledger has counted for a milestone.
    func ledgerCount(_ milestone: String) throws -> Int {
        try open()("SELECT CAST(coalesce(sum(count), 0) AS int8) FROM ledger WHERE milestone = '\(milestone)'")
    }

    /// Waits until the number of rows meets a condition. The count runs at once, and after each change of the file.
    func wait(for rows: String, until isSo: (Int) throws -> Bool) async throws {
        // Open the database only once: a close changes the file.
        let read = try open()
        try await FolderWatch(folder).wait { try isSo(read("SELECT count(*) FROM \(rows)")) }
    }

    /// The messages without a decision, or with a reply that is not marked as published.
    private var unfinished: String { isPostgreSQL ? "message WHERE is_unfinished" : "unfinished_message" }

    func unfinishedCount() throws -> Int { try count(unfinished) }

    /// Waits until the server has decided each recorded message, and has stored each reply's publication mark.
    func waitUntilFinished() async throws {
        try await wait(for: unfinished) { $0 == 0 }
    }

    /// Changes the database without the server's knowledge.
    func execute(_ sql: String) throws {
        if isPostgreSQL {
            _ = try connection().run([Command(sql)])
        } else {
            var configuration = Configuration()
            configuration.busyMode = .timeout(600)  // The server writes too
            try DatabaseQueue(path: location, configuration: configuration).write { try $0.execute(sql: sql) }
        }
    }

    /// Returns the first value of a query of SQLite.
    func text(_ sql: String) throws -> String {
        try file().read { try String.fetchOne($0, sql: sql) } ?? ""
    }

    /// Returns the first value of a query; empty if it has no row.
    func bytes(_ sql: String) throws -> [UInt8] {
        if isPostgreSQL { return try connection().run([Command(sql)])[0].map { try $0.next([UInt8].self) }.first ?? [] }
        return [UInt8](try file().read { try Data.fetchOne($0, sql: sql) } ?? Data())
    }

    /// Connects to the database.
    ///
    /// - Returns: A function that runs a query for one number.
    private func open() throws -> (_ sql: String) throws -> Int {
        if isPostgreSQL {
            let connection = try connection()
            return { try connection.run([Command($0)])[0].map { try $0.next(Int.self) }[0] }
        }
        let file = try file()
        return { sql in try file.read { try Int.fetchOne($0, sql: sql) ?? 0 } }
    }

    private func connection() throws -> Connection {
        try Connection(PostgreSQLLocation(url: location).connection(password: nil, name: "tests"))
    }

    private func file() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: location, configuration: configuration)
    }
}
