import Foundation
import GRDB
import TestSupport

@testable import PostgreSQLStore

/// A server's database, seen from outside, whether the server runs or not.
struct ServerDatabase: Sendable {
    /// The path of an SQLite file, or the URL of a PostgreSQL database, as `pushctl --database` takes it.
    let location: String
    /// The folder whose changes tell of changes in an SQLite file. They tell nothing of PostgreSQL, which is asked now and then.
    private let folder: String

    init(path: String) {
        (location, folder) = (path, URL(filePath: path).deletingLastPathComponent().path())
    }

    init(of server: ServerProcess) { self.init(of: server.launched) }

    init(of server: Launched<ServerProcess.Addresses>) {
        (location, folder) = (server.database, server.folder.path(""))
    }

    private var isPostgreSQL: Bool { location.hasPrefix("postgresql:") }

    /// - Parameter rows: a table, and what is asked of its rows.
    func count(_ rows: String) throws -> Int { try open()("SELECT count(*) FROM \(rows)") }

    /// Returns the number of events that the ledger has counted for a milestone.
    func ledgerCount(_ milestone: String) throws -> Int {
        try open()("SELECT CAST(coalesce(sum(count), 0) AS int8) FROM ledger WHERE milestone = '\(milestone)'")
    }

    /// Returns when the number of rows is as wanted: asks at once, and after each change of the file.
    func wait(for rows: String, until isSo: (Int) throws -> Bool) async throws {
        // Opened once: closing it is a change of the file.
        let read = try open()
        try await FolderWatch(folder).wait { try isSo(read("SELECT count(*) FROM \(rows)")) }
    }

    /// The messages without a decision, or with a reply that is not marked as published.
    private var unfinished: String { isPostgreSQL ? "message WHERE is_unfinished" : "unfinished_message" }

    func unfinishedCount() throws -> Int { try count(unfinished) }

    /// Returns when each recorded message is decided, and its reply marked as published.
    func waitUntilFinished() async throws {
        try await wait(for: unfinished) { $0 == 0 }
    }

    /// Changes it behind the server's back.
    func execute(_ sql: String) throws {
        if isPostgreSQL {
            _ = try connection().run([Command(sql)])
        } else {
            var configuration = Configuration()
            configuration.busyMode = .timeout(600)  // the server is writing too
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
