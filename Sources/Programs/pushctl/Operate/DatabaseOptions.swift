import ArgumentParser
import Operator
import ServerFiles
import Settings

/// A server's database on this machine, for a command that changes or replaces it, and asks for its target.
struct DatabaseOptions: ParsableArguments {
    @Option(help: "The server's configuration file, which names its database (else PUSHSERVER_CONFIG).", completion: .file())
    var config: String?

    @Option(
        help: "The server's database (else that of PUSHSERVER_STORAGE_PATH or the configuration, else the default one).",
        completion: .file())
    var database: String?

    /// Returns the paths to the server's files.
    func paths() throws(Failure) -> ServerPaths { try OperatorSettings.find(config, database: database, service: nil).paths }

    func serverDatabase() throws(Failure) -> ServerDatabase { ServerDatabase(try paths()) }
}
