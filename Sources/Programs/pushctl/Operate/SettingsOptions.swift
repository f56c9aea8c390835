import ArgumentParser
import Foundation
import Observation
import Operator
import Settings

/// The settings of the server that a reading command stands beside.
struct SettingsOptions: ParsableArguments {
    @Option(
        help: "The server's configuration file (else PUSHSERVER_CONFIG, else that of the service on this machine).", completion: .file())
    var config: String?

    @Flag(help: "Say which settings the command uses, on standard error.")
    var verbose = false

    /// Runs a command's body with the settings, and says in each error which they are.
    ///
    /// - Parameter database: The database that the command line names, if any.
    func with(database: String? = nil, _ body: (OperatorSettings) async throws -> Void) async throws {
        let settings = try OperatorSettings.find(config, database: database, service: .pushserver)
        if verbose { StandardError.print("Settings: \(settings.origin)") }
        do {
            try await body(settings)
        } catch var failure as Failure {
            failure.message += " (settings: \(settings.origin))"
            throw failure
        }
    }
}

/// A server's database, for a command that reads or copies it: by default that of the service on this machine.
struct ReadingOptions: ParsableArguments {
    @OptionGroup private var settings: SettingsOptions

    @Option(help: "The server's database (else that of the settings, else the default one).", completion: .file())
    var database: String?

    /// Runs a command's body with the database, and says in each error by which settings it was found.
    func with(_ body: (ServerDatabase, OperatorSettings) async throws -> Void) async throws {
        try await settings.with(database: database) { settings throws in try await body(ServerDatabase(settings.paths), settings) }
    }
}

extension OperatorSettings {
    static func find(_ config: String?, database: String?, service: InstalledService?) throws(Failure) -> Self {
        do {
            return try Self(file: config, database: database, environment: ProcessInfo.processInfo.environment, service: service)
        } catch {
            throw .configuration(error.description)
        }
    }
}
