import ArgumentParser
import Foundation
import Logging
import SQLiteStore
import StatusCrypto
import Store

/// The database of a server on this machine, opened for reading only: the server may be running on it.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The server's database (else PUSHSERVER_STORAGE_PATH, else where the server has it by default).", completion: .file())
    var database: String?

    var path: String {
        let environment = ProcessInfo.processInfo.environment
        if let path = database ?? environment["PUSHSERVER_STORAGE_PATH"] { return path }
        let folder = environment["STATE_DIRECTORY"] ?? (environment["HOME"] ?? ".") + "/.local/state/pushserver"
        return folder + "/pushserver.sqlite"
    }

    /// Opens the database, lends it, and closes it.
    func withStore<Result>(_ body: (SQLiteStore) async throws -> Result) async throws -> Result {
        do {
            let store = try SQLiteStore(
                readingAt: path, logger: Logger(label: "pushctl") { _ in SwiftLogNoOpLogHandler() })
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
