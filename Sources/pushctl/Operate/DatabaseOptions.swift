import ArgumentParser
import Foundation
import Logging
import SQLiteStore
import Settings
import StatusCrypto
import Store

/// The database of a server on this machine.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The server's configuration file, which says where its database is (else PUSHSERVER_CONFIG).", completion: .file())
    var config: String?

    @Option(
        help: "The server's database (else as the configuration and PUSHSERVER_STORAGE_PATH say, else where it is by default).",
        completion: .file())
    var database: String?

    /// Where the server has its files.
    func paths() throws(Failure) -> ServerPaths {
        let environment = ProcessInfo.processInfo.environment
        let source: SettingsSource
        do {
            source = try SettingsSource(file: config, environment: environment)
        } catch {
            throw .configuration(error.description)
        }
        guard source.problems.isEmpty else { throw .configuration(source.problems.joined(separator: "\n")) }
        var paths = ServerPaths(source, environment: environment)
        if let database { paths.database = database }
        return paths
    }

    /// Opens the database for reading, lends it, and closes it.
    func withStore<Result>(_ body: (SQLiteStore) async throws -> Result) async throws -> Result {
        let path = try paths().database
        return try await using(path) {
            try SQLiteStore(readingAt: path, logger: Self.silentLogger)
        } body: {
            try await body($0)
        }
    }

    /// Opens the database for writing, lends it, and closes it. No server may be running on it.
    func withStoreToChange<Result>(_ body: (SQLiteStore) async throws -> Result) async throws -> Result {
        let path = try paths().database
        guard FileManager.default.fileExists(atPath: path) else { throw Failure(.notSetUp, database: path) }
        let lock: InstanceLock
        do {
            lock = try InstanceLock(database: path)
        } catch let error as InstanceLockError {
            throw Failure.configuration("\(error.description). Stop it first.")
        } catch let error as StoreError {
            throw Failure(error, database: path)
        }
        defer { withExtendedLifetime(lock) {} }
        return try await using(path) {
            try SQLiteStore(changingAt: path, logger: Self.silentLogger)
        } body: {
            try await body($0)
        }
    }

    private func using<Result>(
        _ path: String, open: () throws -> SQLiteStore, body: (SQLiteStore) async throws -> Result
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
    /// What to do about a database that cannot be used.
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
            case .failed, .damaged, .alreadyDecided, .alreadyEnded, .queueFull, .closed: "database \(path): \(error)."
            }
        self = error.isConfigurationFault ? .configuration(message) : .failed(message)
    }
}
