import Foundation
import GRDB
import TestSupport

/// A server's database, seen from outside, whether the server runs or not.
struct ServerDatabase: Sendable {
    let path: String

    /// - Parameter rows: a table, and what is asked of its rows.
    func count(_ rows: String) throws -> Int {
        try open().read { try Self.count(rows, $0) }
    }

    /// Returns when the number of rows is as wanted: asks at once, and after each change of the file.
    func wait(for rows: String, until isSo: (Int) -> Bool) async throws {
        // Opened once: closing it is a change of the file.
        let queue = try open()
        try await FolderWatch(URL(filePath: path).deletingLastPathComponent().path()).wait {
            try await isSo(queue.read { try Self.count(rows, $0) })
        }
    }

    /// Changes it behind the server's back.
    func execute(_ sql: String) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(600)  // the server is writing too
        try DatabaseQueue(path: path, configuration: configuration).write { try $0.execute(sql: sql) }
    }

    /// The first value of a query.
    func text(_ sql: String) throws -> String {
        try open().read { try String.fetchOne($0, sql: sql) } ?? ""
    }

    private func open() throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.readonly = true
        return try DatabaseQueue(path: path, configuration: configuration)
    }

    private static func count(_ rows: String, _ database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM \(rows)") ?? 0
    }
}
