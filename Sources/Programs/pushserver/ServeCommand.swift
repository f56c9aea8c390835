import ArgumentParser
import Daemon
import Foundation
import Observation
import Settings

struct ServeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve", abstract: "Run the server until SIGTERM or SIGINT; it drains, then exits 0.")

    @OptionGroup var options: ConfigurationOptions

    @Option(help: "Write the addresses that were bound to this file, as JSON, once the server is ready.", completion: .file())
    var readyFile: String?

    @Flag(help: "Stop the running server of this configuration: it drains, and hands over to the others on its database. Returns then.")
    var drain = false

    func run() async throws {
        if drain { return try await exitingWithStatus { try await Drain.run(options.settings()) } }
        try await exitingWithStatus(reporting: { LoggingSetup.reportFatal($0, format: options.logFormat) }) {
            let settings = try options.settings()
            try settings.checkPrograms()
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

    @Flag(help: "Check node and gorush, too, and exit with 69 if one of them cannot be used. Sends no push.")
    var probe = false

    func run() async throws {
        try await exitingWithStatus {
            let settings = try options.settings()
            try settings.checkPrograms()
            print(settings.effectiveYAML)
            print(settings.openFileSummary)
            if settings.configurationFile == nil {
                StandardError.print(
                    """
                    no configuration file: these are the defaults, variables and flags; name the server's file with --config or \
                    \(SettingsSource.configurationFileVariable)
                    """)
            }
            for deprecation in settings.deprecations {
                StandardError.print("deprecated: \(deprecation)")
            }
            for recommendation in settings.recommendations {
                StandardError.print("recommended: \(recommendation)")
            }
            guard probe else { return }
            let result = await Probe(settings)
            result.lines.forEach(StandardError.print)
            try result.check()
        }
    }
}

struct IdentityCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "identity",
        abstract: "Print the server's public key, which is its address, as JSON.",
        discussion: """
            Without a key file it exits with 1 and prints the path. `pushserver serve` creates the file at its first start, and logs path \
            and public key.
            """)

    @OptionGroup var options: ConfigurationOptions

    @Flag(help: "Create the key file if neither it nor the database exists.")
    var create = false

    @Flag(help: "Print the public key alone.")
    var plain = false

    func run() async throws {
        try await exitingWithStatus {
            let identity = try await IdentityBody(options.settings(), creates: create)
            print(plain ? identity.publicKey : identity.json)
        }
    }
}
