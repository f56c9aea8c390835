import Foundation
import Logging
import SQLiteStore
package import Store

/// The database of a server on this machine. The server may be running, except where a function changes the database.
package struct ServerDatabase: Sendable {
    package let path: String

    package init(path: String) {
        self.path = path
    }

    /// Opens the database for reading, calls `body` and closes the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func read<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        try await withStore(open: { try SQLiteStore(readingAt: path, logger: Self.silentLogger) }, body)
    }

    /// Opens the database for writing, calls `body` and closes the database. Fails while a server uses the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func change<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.notSetUp, database: path) }
        try FolderOwner.become(for: path)
        let lock: InstanceLock
        do {
            lock = try InstanceLock(database: path)
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as StoreError {
            throw Failure(error, database: path)
        }
        defer { withExtendedLifetime(lock) {} }
        return try await withStore(open: { try SQLiteStore(changingAt: path, logger: Self.silentLogger) }, body)
    }

    /// Copies the database to a new file of mode 0600.
    package func backUp(to file: String, report: @escaping Progress.Report) async throws {
        guard !FileManager.default.fileExists(atPath: file) else { throw Failure.usage("\(file) is there already") }
        guard FileManager.default.createFile(atPath: file, contents: nil, attributes: [.posixPermissions: 0o600]) else {
            throw Failure.configuration("\(file) cannot be made")
        }
        do {
            try await withStore(open: { try SQLiteStore(readingAt: path, logger: Self.silentLogger) }) { store in
                // The WAL is left out of the estimate: most of its pages replace pages of the database.
                try await FileGrowth.withReports(of: file, total: FileGrowth.size(of: path) ?? 0, step: "copying", to: report) {
                    try await store.backUp(to: file)
                }
            }
        } catch {
            try? FileManager.default.removeItem(atPath: file)
            throw error
        }
    }

    private func withStore<Result>(
        open: () throws -> SQLiteStore, _ body: (SQLiteStore) async throws -> Result
    ) async throws -> Result {
        do {
            let store = try open()
            do {
                let result = try await body(store)
                await store.close()
                return result
            } catch {
                await store.close()
                throw error
            }
        } catch let error as StoreError {
            throw Failure(error, database: path)
        }
    }

    static var silentLogger: Logger { Logger(label: "pushctl") { _ in SwiftLogNoOpLogHandler() } }
}

extension Failure {
    /// Creates the failure for a database that cannot be used, with the next step.
    init(_ error: StoreError, database path: String) {
        let naming = "Name the server's with --database, or its configuration file with --config."
        let message =
            switch error {
            case .notSetUp where !FileManager.default.fileExists(atPath: path): "there is no database \(path). \(naming)"
            case .notSetUp: "database \(path): the server has not set it up, or not brought it up to date: start it once. \(naming)"
            case .notADatabase: "\(path) is not a database of this program. \(naming)"
            case .unknownSchema:
                "database \(path): another version of this program has written it: use the pushctl of that version. \(naming)"
            case .inaccessible(let errno):
                unsafe "database \(path): \(String(cString: strerror(errno))). Run this as the server's user, or as root. \(naming)"
            case .otherIdentity: "database \(path) belongs to another identity. \(naming)"
            case .failed, .damaged, .alreadyDecided, .alreadyEnded, .queueFull, .storageFull, .closed: "database \(path): \(error)."
            }
        self = error.isConfigurationFault ? .configuration(message) : .failed(message)
    }
}
