import ArgumentParser
import Daemon
import Foundation

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server until SIGTERM or SIGINT; it drains, then exits 0.")

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "Write the addresses that were bound to this file, as JSON, once the server is ready.", completion: .file())
    var readyFile: String?

    func run() async throws {
        try await exitingWithStatus {
            let settings = try options.settings()
            let logger = LoggingSetup.bootstrap(level: settings.logLevel, format: settings.logFormat)
            try await Server.run(settings, readyFile: readyFile, logger: logger)
        }
    }
}

struct CheckConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check-config",
        abstract: "Print the effective configuration, secrets redacted; or every problem at once, and exit 78.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await exitingWithStatus {
            let settings = try options.settings()
            print(settings.effectiveYAML)
            for recommendation in settings.recommendations {
                FileHandle.standardError.write(Data("recommended: \(recommendation)\n".utf8))
            }
        }
    }
}

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Print the server's public key as JSON. Creates the key file if there is none.")

    @OptionGroup var options: ConfigurationOptions

    func run() async throws {
        try await exitingWithStatus {
            print(try IdentityBody(keyFile: try options.settings().identityKeyFile).json)
        }
    }
}
