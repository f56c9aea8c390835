import ArgumentParser
import Foundation
import Logging
import SQLiteStore
import StatusCrypto
import Store

/// The database of a server on this machine.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The server's database (else PUSHSERVER_STORAGE_PATH, else where the server has it by default).", completion: .file())
    var database: String?

    var path: String {
        let environment = ProcessInfo.processInfo.environment
        if let path = database ?? environment["PUSHSERVER_STORAGE_PATH"] { return path }
        let folder = environment["STATE_DIRECTORY"] ?? (environment["HOME"] ?? ".") + "/.local/state/pushserver"
        return folder + "/pushserver.sqlite"
    }

    /// Opens the database for reading, lends it, and closes it.
    func withStore<Result>(_ body: (SQLiteStore) async throws -> Result) async throws -> Result {
        try await with {
            (try SQLiteStore(readingAt: path, logger: $0), nil)
        } body: {
            try await body($0)
        }
    }

    /// Opens the database for writing, lends it, and closes it. No server may be running on it.
    func withStoreToChange<Result>(_ body: (SQLiteStore) async throws -> Result) async throws -> Result {
        guard FileManager.default.fileExists(atPath: path) else {
            throw Failure.configuration("\(path): there is no such file. Name the server's database with --database.")
        }
        return try await with {
            do {
                let lock = try InstanceLock(database: path)
                return (try SQLiteStore(changingAt: path, logger: $0), lock)
            } catch let error as InstanceLockError {
                throw Failure.configuration("\(error). Stop the server first.")
            }
        } body: {
            try await body($0)
        }
    }

    /// - Parameter open: the store, and what is held until it is closed.
    private func with<Result>(
        open: (Logger) throws -> (SQLiteStore, InstanceLock?), body: (SQLiteStore) async throws -> Result
    ) async throws -> Result {
        do {
            let (store, lock) = try open(Logger(label: "pushctl") { _ in SwiftLogNoOpLogHandler() })
            defer { withExtendedLifetime(lock) {} }
            do {
                let result = try await body(store)
                await store.close()
                return result
            } catch {
                await store.close()
                throw error
            }
        } catch let error as StoreError {
            let message = "\(path): \(error). Is it the server's database? Name it with --database."
            throw error.isConfigurationFault ? Failure.configuration(message) : Failure.failed(message)
        }
    }
}
