import Bytes
import Foundation
import Logging
import PostgreSQLStore
import SQLiteStore
import ServerCrypto
package import ServerFiles
import StatusCrypto
package import Store

/// A server's database: a file on this machine, or a PostgreSQL database. Servers may be running, except where a function changes the
/// database.
package struct ServerDatabase: Sendable {
    /// The file's path. The admin token is next to it, even if the database is in PostgreSQL.
    package let path: String
    private let sealingKeyFile: String
    /// The URL if the database is in PostgreSQL, or nil for a file.
    private let url: String?
    private let passwordFile: String?

    package init(_ paths: ServerPaths) {
        path = paths.database
        sealingKeyFile = paths.sealingKeyFile
        url = paths.databaseURL
        passwordFile = paths.passwordFile
    }

    var name: String { url ?? path }

    /// Opens the database for reading, calls `body` and closes the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func read<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        try await withStore(open: openForReading, body)
    }

    /// Opens a database that servers share, calls `body` and closes the database.
    ///
    /// - Throws: ``Failure`` for an SQLite database, and if the database cannot be used.
    package func readCluster<Result>(_ body: (any ClusterStore) async throws -> Result) async throws -> Result {
        guard url != nil else {
            throw Failure.configuration(
                "\(path) is the database of one server. Name a database that servers share with --config or --database.")
        }
        return try await withStore(open: openForReading) { store in
            guard let cluster = store.cluster else { throw Failure.configuration("\(name) is the database of one server.") }
            return try await body(cluster)
        }
    }

    /// Opens the database for writing, calls `body` and closes the database. Fails while a server uses the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func change<Result>(_ body: (any OperatorViews) async throws -> Result) async throws -> Result {
        if let url { return try await withoutServers(url) { try await body($0) } }
        // Root may read a key file that the user who owns the database's folder may not.
        let keys = try sealingKeys()
        let lock = try lockFile()
        defer { withExtendedLifetime(lock) {} }
        return try await withStore(
            open: { try location().openForChange(sealingKeys: keys, logger: Self.silentLogger) }, body)
    }

    /// Opens the database for a change that running servers notice, calls `body` and closes the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    package func changeBesideServers<Result>(_ body: (any PushStore) async throws -> Result) async throws -> Result {
        if url == nil { try FolderOwner.become(for: path) }
        return try await withStore(open: { try location().openForReading(sealingKeys: nil, logger: Self.silentLogger) }, body)
    }

    /// Returns the database with everything that opening it needs, but for its keys. Call this before the process gives up root's rights.
    func location() throws -> DatabaseLocation {
        guard let url else { return .sqlite(path: path) }
        do {
            return .postgresql(try PostgreSQLLocation(url: url), password: try password())
        } catch let error as PostgreSQLLocationError {
            throw Failure.usage("\(error)")
        }
    }

    /// Opens the database to copy or mark it, calls `body` and closes the database. Fails if a server uses the database.
    ///
    /// - Parameter body: Receives the database, and a function that marks it as moved to a path or URL.
    /// - Throws: ``Failure`` when the database cannot be used.
    func move<Result>(
        _ body: (_ store: any CopyableStore, _ mark: (_ place: String) async throws -> Void) async throws -> Result
    ) async throws -> Result {
        if let url {
            return try await withoutServers(url) { store in
                try await body(store) { place in
                    // If the lock's connection has broken, a server may have joined.
                    try await Self.checkThatNoServerRuns(on: store, url)
                    try await store.markMoved(to: place)
                }
            }
        }
        let keys = try sealingKeys()
        let lock = try lockFile()
        defer { withExtendedLifetime(lock) {} }
        return try await withStore(open: { try location().openForReading(sealingKeys: keys, logger: Self.silentLogger) }) { store in
            try await body(store) { try await store.markMoved(to: $0) }
        }
    }

    /// Whether a server can start on the database: it exists, is complete, and is not marked as moved.
    func isInUse() throws -> Bool {
        do {
            return try location().owner() != nil
        } catch StoreError.incompleteCopy, StoreError.moved {
            return false
        } catch let error as StoreError {
            throw Failure(error, database: name)
        }
    }

    /// Reads the mark of a copy.
    ///
    /// - Returns: The copy's path or URL, or nil without a mark.
    func movedPlace() throws -> String? {
        do {
            _ = try location().owner()
            return nil
        } catch StoreError.moved(let place) {
            return place
        } catch let error as StoreError {
            throw Failure(error, database: name)
        }
    }

    /// Lifts the mark that a copy has left, so that servers start on the database again. Fails if another process uses the database.
    ///
    /// - Throws: ``Failure`` when the database cannot be used.
    func liftMark() throws {
        do {
            if url != nil {
                let lock = try OperatorLock(location().commandConnection)
                defer { withExtendedLifetime(lock) {} }
                _ = try location().liftMark()
            } else {
                let lock = try lockFile()
                defer { withExtendedLifetime(lock) {} }
                _ = try location().liftMark()
            }
        } catch let error as StoreError {
            throw Failure(error, database: name)
        }
    }

    /// Opens a database in PostgreSQL for `body`, during which no server may use it.
    private func withoutServers<Result>(_ url: String, _ body: (any OperatorStore) async throws -> Result) async throws -> Result {
        try await withStore(open: openForReading) { store in
            // No server joins from here on, and the check finds those that have joined before.
            let lock = try OperatorLock(location().commandConnection)
            defer { withExtendedLifetime(lock) {} }
            try await Self.checkThatNoServerRuns(on: store, url)
            return try await body(store)
        }
    }

    private static func checkThatNoServerRuns(on store: any OperatorStore, _ url: String) async throws {
        let running = try await (store.cluster?.members() ?? []).filter(\.state.isRunning).map(\.name)
        guard running.isEmpty else {
            throw Failure.configuration("a server uses the database \(url): \(running.joined(separator: ", ")). Stop it first.")
        }
    }

    /// Locks the file, as the user who owns its folder.
    private func lockFile() throws -> InstanceLock {
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.notSetUp, database: path) }
        try FolderOwner.become(for: path)
        do {
            return try InstanceLock(database: path)
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as StoreError {
            throw Failure(error, database: path)
        }
    }

    /// Copies the database to a new file of mode 0600.
    ///
    /// - Parameter recipients: The keys for which the copy is encrypted, or none for a plain copy.
    /// - Throws: ``Failure``.
    package func backUp(to file: String, recipients: [AgeRecipient], report: @escaping Progress.Report) async throws {
        // A store refuses the databases of other programs, and those that no server has set up.
        guard url == nil else {
            throw Failure.usage("PostgreSQL has backups of its own, such as pg_basebackup. docs/BACKUP.md describes them.")
        }
        try await read { _ in }
        do {
            try await DatabaseBackup(of: path, recipients: recipients).write(
                to: file, actingAsOwner: { try await FolderOwner.acting(for: path, $0) },
                filling: { step, path, byteCount, body in
                    try await FileGrowth.withReports(of: path, total: byteCount, step: step, to: report, body)
                })
        } catch let error as BackupError {
            switch error {
            case .exists: throw Failure.usage(error.description)
            case .unwritable: throw Failure.configuration(error.description)
            case .diskFull, .failed(.damaged): throw Failure.failed(error.description)
            case .notEncrypted(let error): throw Failure(error)
            case .failed(let error): throw Failure(error, database: path)
            }
        }
    }

    /// Reads the sealing keys, or nil without the file. The store refuses to open a sealed value without its key.
    private func sealingKeys() throws -> SealingKeys? {
        do {
            return try SealingKeyFile(path: sealingKeyFile).load()
        } catch {
            throw Failure.configuration(error.description)
        }
    }

    private func openForReading() throws -> any OperatorStore {
        try location().openForReading(sealingKeys: try sealingKeys(), logger: Self.silentLogger)
    }

    /// Reads the only line in the password's file.
    private func password() throws -> String? {
        guard let passwordFile else { return nil }
        do {
            guard let bytes = try PrivateFile(path: passwordFile).read() else {
                throw Failure.configuration("\(passwordFile) does not exist")
            }
            return String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline).first.map(String.init)
        } catch let error as PrivateFileError {
            throw Failure.configuration("\(passwordFile): \(error)")
        }
    }

    private func withStore<Result>(
        open: () throws -> any OperatorStore, _ body: (any OperatorStore) async throws -> Result
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
            throw Failure(error, database: name, sealingKeyFile: sealingKeyFile)
        }
    }

    static var silentLogger: Logger { Logger(label: "pushctl") { _ in SwiftLogNoOpLogHandler() } }
}

extension Failure {
    /// Creates the failure for a database that cannot be used, with the next step.
    ///
    /// - Parameter sealingKeyFile: The path where the sealing keys were looked for, or nil if none were needed.
    init(_ error: StoreError, database path: String, sealingKeyFile: String? = nil) {
        let naming = "Name the server's with --database, or its configuration file with --config."
        let message =
            switch error {
            case .notSetUp where path.hasPrefix("postgres"):
                "database \(path): no server has set it up, or brought it up to date: start it once. \(naming)"
            case .notSetUp where !FileManager.default.fileExists(atPath: path): "there is no database \(path). \(naming)"
            case .notSetUp: "database \(path): the server has not set it up, or not brought it up to date: start it once. \(naming)"
            case .notADatabase: "\(path) is not a database of this program. \(naming)"
            case .outdatedSchema, .moved, .incompleteCopy, .locked, .sharedSessions: "database \(path): \(error)."
            case .unknownSchema:
                "database \(path): another version of this program has written it: use the pushctl of that version. \(naming)"
            case .inaccessible(let errno):
                unsafe "database \(path): \(String(cString: strerror(errno))). Run this as the server's user, or as root. \(naming)"
            case .sealingKeyMissing, .sealingKeyUnknown, .sealingKeyWrong:
                "database \(path): \(error)" + (sealingKeyFile.map { " \($0)" } ?? "")
                    + ". Name the server's file with PUSHSERVER_STORAGE_SEALING_KEY_FILE, or its configuration file with --config."
            case .otherIdentity: "database \(path) belongs to another identity. \(naming)"
            case .unreachable: "\(path): \(error). `pushctl top` shows a running server's last figures, and their age. \(naming)"
            case .fileLost, .failed, .unavailable, .nameTaken, .duplicated, .rowLocked, .ownersLocked, .damaged, .alreadyDecided,
                .alreadyEnded, .queueFull,
                .storageFull, .closed, .wentBack:
                "database \(path): \(error)."
            }
        if case .unreachable = error {
            self = .unavailable(message)
        } else if case .locked = error {
            self = .temporary(message)
        } else {
            self = error.isConfigurationFault ? .configuration(message) : .failed(message)
        }
    }
}
