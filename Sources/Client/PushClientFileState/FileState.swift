public import FoundationEssentials
import GRDB
import Platform
public import PushClient
import Synchronization

#if !FileState
    #error("PushClientFileState needs the package's trait FileState")
#endif

/// The state of clients in an SQLite file, which only its owner may read.
public final class FileState: ClientState {
    /// The calls in progress, and whether the file is closed: SQLite must not be called afterwards.
    private struct Use {
        var callCount = 0
        var isClosed = false
    }

    private let path: String
    private let database: DatabaseQueue
    private let use = Mutex(Use())
    /// See ``init(path:deviceMark:)``.
    public let deviceMark: String?

    /// Opens the file, or creates it. Blocks on the disk.
    ///
    /// - Parameter deviceMark: A text that another device does not have. If a backup has brought the file from another device, the next
    ///   `RegisteringClient` starts a new installation. Nil changes nothing.
    /// - Throws: `PushClientError.stateUnusable`, also for a file that another program, or a later version of this library, has written.
    public init(path: String, deviceMark: String? = nil) throws {
        self.deviceMark = deviceMark
        self.path = path
        try makePrivateFile(path)
        do {
            var configuration = Configuration()
            configuration.label = "PushClient"
            // `pushctl` may use the file at the same time.
            configuration.busyMode = .timeout(5)
            database = try DatabaseQueue(path: path, configuration: configuration)
            guard try !database.read({ try Self.migrator.hasBeenSuperseded($0) }) else { throw Unusable.newerVersion }
            try Self.migrator.migrate(database)
        } catch {
            throw Self.failure(error, of: path)
        }
    }

    /// Returns the value that was saved last under the name, or nil.
    public func value(named name: String) async throws -> Data? {
        do {
            return try await using { try await $0.read { try Self.value(named: name, in: $0) } }
        } catch {
            throw Self.failure(error, of: path)
        }
    }

    /// Saves a value under the name. Returns after it is on the disk.
    public func save(_ value: Data, named name: String) async throws {
        do {
            try await using { try await $0.write { try Self.save(value, named: name, in: $0) } }
        } catch {
            throw Self.failure(error, of: path)
        }
    }

    /// Saves a value under the name if the present value is as expected, in a transaction, because other processes may use the file too.
    public func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        do {
            return try await using { queue in
                try await queue.write { database in
                    guard try Self.value(named: name, in: database) == old else { return false }
                    try Self.save(new, named: name, in: database)
                    return true
                }
            }
        } catch {
            throw Self.failure(error, of: path)
        }
    }

    /// Closes the file, which ends its locks, once no call is in progress. Every later call throws `PushClientError.stateUnusable`.
    ///
    /// For an app that the system suspends: open the file again for the next client.
    public func close() throws {
        let isIdle = use.withLock { use in
            defer { use.isClosed = true }
            return !use.isClosed && use.callCount == 0
        }
        guard isIdle else { return }
        do {
            try database.close()
        } catch {
            throw Self.failure(error, of: path)
        }
    }

    /// Performs a call, unless the file is closed. The last call in progress closes a file that was closed meanwhile.
    private func using<Result>(_ call: (DatabaseQueue) async throws -> Result) async throws -> Result {
        try use.withLock { use in
            guard !use.isClosed else { throw Unusable.closed }
            use.callCount += 1
        }
        defer {
            let mustClose = use.withLock { use in
                use.callCount -= 1
                return use.isClosed && use.callCount == 0
            }
            // Nobody is left who could be told of a failure, and the file is whole in any case.
            if mustClose { try? database.close() }
        }
        return try await call(database)
    }

    private static func value(named name: String, in database: Database) throws -> Data? {
        try Data.fetchOne(database, sql: "SELECT value FROM value WHERE name = ?", arguments: [name])
    }

    private static func save(_ value: Data, named name: String, in database: Database) throws {
        try database.execute(
            sql: "INSERT INTO value VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value", arguments: [name, value])
    }

    private enum Unusable: Error {
        case newerVersion
        case closed
    }

    /// Returns the error to throw. It contains a database error's code, but not its text, which may quote a statement.
    private static func failure(_ error: any Error, of path: String) -> any Error {
        let reason: String
        switch error {
        case is CancellationError: return error
        case Unusable.newerVersion: reason = "was written by a later version of this library: update the app"
        case Unusable.closed: reason = "is closed: open another FileState of it"
        case let error as DatabaseError: reason = words(for: error)
        default: reason = "cannot be read or written"
        }
        return PushClientError.stateUnusable(reason: "\(path) \(reason)")
    }

    /// What a database error means, and what to do.
    private static func words(for error: DatabaseError) -> String {
        let code = error.extendedResultCode
        return switch (code, error.resultCode) {
        case (.SQLITE_READONLY_DBMOVED, _): "was deleted or moved while it was in use: start the app again"
        case (_, .SQLITE_NOTADB): "is not a state of this library: choose another path"
        case (_, .SQLITE_CORRUPT): "is damaged (SQLite error \(code.rawValue)): delete it, and the device registers again"
        case (_, .SQLITE_FULL): "does not fit on the disk: make space"
        case (_, .SQLITE_BUSY), (_, .SQLITE_LOCKED):
            "is locked by another program (SQLite error \(code.rawValue)): try again when that ends"
        case (_, .SQLITE_IOERR): "fails on the disk (SQLite error \(code.rawValue)): check the disk and its space"
        case (_, .SQLITE_READONLY), (_, .SQLITE_PERM), (_, .SQLITE_CANTOPEN):
            "cannot be opened or written (SQLite error \(code.rawValue)): check the owner and permissions of file and folder"
        default: "cannot be used (SQLite error \(code.rawValue))"
        }
    }

    /// The migrations, never edited after a release.
    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("values") { database in
            try database.execute(sql: "CREATE TABLE value (name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL) STRICT")
        }
        return migrator
    }
}

/// SQLite would create the file with its default mode.
private func makePrivateFile(_ path: String) throws {
    let descriptor = unsafe open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
        throw PushClientError.stateUnusable(reason: "\(path) cannot be opened (\(SystemError())): check the folder and its permissions")
    }
    close(descriptor)
}
