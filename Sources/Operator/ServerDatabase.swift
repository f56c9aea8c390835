package import Age
import Backup
import Foundation
import Logging
import SQLiteStore
package import Settings
import StatusCrypto
package import Store

/// The database of a server on this machine. The server may be running, except where a function changes the database.
package struct ServerDatabase: Sendable {
    package let path: String
    private let sealingKeyFile: String

    package init(_ paths: ServerPaths) {
        path = paths.database
        sealingKeyFile = paths.sealingKeyFile
    }

    /// Opens the database for reading, calls `body` and closes the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func read<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        try await withStore(open: { try SQLiteStore(readingAt: path, sealingKeys: sealingKeys(), logger: Self.silentLogger) }, body)
    }

    /// Opens the database for writing, calls `body` and closes the database. Fails while a server uses the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func change<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.notSetUp, database: path) }
        // Root may read a key file that the owner of the database's folder may not.
        let keys = try sealingKeys()
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
        return try await withStore(open: { try SQLiteStore(changingAt: path, sealingKeys: keys, logger: Self.silentLogger) }, body)
    }

    /// Copies the database to a new file of mode 0600.
    ///
    /// - Parameter recipients: The keys for which the copy is encrypted; none for a plain copy.
    /// - Throws: ``Failure``.
    package func backUp(to file: String, recipients: [AgeRecipient], report: @escaping Progress.Report) async throws {
        // A store refuses the databases of other programs, and those that no server has set up.
        try await read { _ in }
        do {
            try await DatabaseBackup(of: path, recipients: recipients).write(
                to: file, actingAsOwner: { try await FolderOwner.acting(for: path, $0) },
                copying: { copy, byteCount, body in
                    try await FileGrowth.withReports(of: copy, total: byteCount, step: "copying", to: report, body)
                }, encrypting: { done, byteCount in report(Progress(step: "encrypting", done: done, total: byteCount, unit: .bytes)) })
        } catch let error as BackupError {
            switch error {
            case .exists: throw Failure.usage(error.description)
            case .unwritable: throw Failure.configuration(error.description)
            case .diskFull, .failed(.damaged): throw Failure.failed(error.description)
            case .failed(let error): throw Failure(error, database: path)
            }
        }
    }

    /// Reads the sealing keys; nil without the file. The store refuses to open a sealed value without its key.
    private func sealingKeys() throws -> SealingKeys? {
        do {
            return try SealingKeyFile(path: sealingKeyFile).load()
        } catch {
            throw Failure.configuration(error.description)
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
            throw Failure(error, database: path, sealingKeyFile: sealingKeyFile)
        }
    }

    static var silentLogger: Logger { Logger(label: "pushctl") { _ in SwiftLogNoOpLogHandler() } }
}

extension Failure {
    /// Creates the failure for a database that cannot be used, with the next step.
    ///
    /// - Parameter sealingKeyFile: The path where the sealing keys were looked for; nil if none were needed.
    init(_ error: StoreError, database path: String, sealingKeyFile: String? = nil) {
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
            case .sealingKeyMissing, .sealingKeyUnknown, .sealingKeyWrong:
                "database \(path): \(error)" + (sealingKeyFile.map { " \($0)" } ?? "")
                    + ". Name the server's file with PUSHSERVER_STORAGE_SEALING_KEY_FILE, or its configuration file with --config."
            case .otherIdentity: "database \(path) belongs to another identity. \(naming)"
            case .failed, .damaged, .alreadyDecided, .alreadyEnded, .queueFull, .storageFull, .closed: "database \(path): \(error)."
            }
        self = error.isConfigurationFault ? .configuration(message) : .failed(message)
    }
}
