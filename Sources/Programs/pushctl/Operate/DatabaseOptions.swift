import ArgumentParser
import Foundation
import Operator
import ServerFiles
import Settings

/// A server's database on this machine.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The server's configuration file, which names its database (else PUSHSERVER_CONFIG).", completion: .file())
    var config: String?

    @Option(
        help: "The server's database (else that of PUSHSERVER_STORAGE_PATH or the configuration, else the default one).",
        completion: .file())
    var database: String?

    private func source() throws(Failure) -> SettingsSource {
        let source: SettingsSource
        do {
            source = try SettingsSource(file: config, environment: ProcessInfo.processInfo.environment)
        } catch {
            throw .configuration(error.description)
        }
        guard source.problems.isEmpty else { throw .configuration(source.problems.joined(separator: "\n")) }
        return source
    }

    /// Returns the paths to the server's files.
    func paths() throws(Failure) -> ServerPaths {
        var paths = ServerPaths(try source(), environment: ProcessInfo.processInfo.environment)
        if let database { paths.use(database: database) }
        return paths
    }

    /// Returns the URL of the server's admin endpoints.
    func adminURL() throws(Failure) -> String { try source().adminURL }

    func serverDatabase() throws(Failure) -> ServerDatabase {
        ServerDatabase(try paths())
    }
}
