import Dispatch
import GRDB
package import Store

/// Copies a server's database while others read and write it.
///
/// The copier has a connection of its own, and the copy is the database's state at one moment (`VACUUM INTO`, which omits deleted content).
/// SQLite's online backup would either hold the writer up for longer, or start again after each write.
package final class DatabaseCopier: Sendable {
    private let source: DatabaseQueue

    /// Opens the database for reading only. It blocks its thread on the disk.
    ///
    /// - Throws: `StoreError` if the file does not exist or cannot be opened.
    package init(path: String) throws(StoreError) {
        try DatabaseFile.find(path: path)
        do {
            source = try DatabaseQueue(path: path, configuration: Self.configuration)
        } catch {
            throw StoreError(error)
        }
    }

    /// The bytes of the pages in use, at least as many as a copy takes.
    package var usedByteCount: Int {
        get async throws(StoreError) {
            do {
                return try await source.writeWithoutTransaction { try $0.usedByteCount() }
            } catch {
                throw StoreError(error)
            }
        }
    }

    /// Writes a copy and checks its integrity. Cancelling the task interrupts both.
    ///
    /// - Parameter path: The path of an empty file. The copy keeps its mode, and is not durable yet.
    /// - Throws: `StoreError`, or `CancellationError`. The file is incomplete then.
    package func copy(to path: String) async throws {
        do {
            // A write without a transaction, because SQLite refuses VACUUM inside one.
            try await source.writeWithoutTransaction { try $0.execute(sql: "VACUUM INTO ?", arguments: [path]) }
            let copy = try DatabaseQueue(path: path, configuration: Self.configuration)
            let report = try await copy.writeWithoutTransaction { try String.fetchOne($0, sql: "PRAGMA integrity_check(1)") }
            try copy.close()
            guard report == "ok" else { throw StoreError.damaged }
        } catch {
            try Task.checkCancellation()
            throw StoreError(error)
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "store.copy"
        configuration.readonly = true
        configuration.busyMode = .timeout(SQLiteStore.busyTimeoutSeconds)
        configuration.qos = .utility
        return configuration
    }
}
