import ArgumentParser
import PushClient

struct Unregister: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Makes servers forget a device.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Which of the key's devices. Default: the UUID made from the key.", valueName: "id"))
    var installation: String?

    @Option(help: ArgumentHelp("Higher than that of the registration. Default: milliseconds since 1970.", valueName: "number"))
    var version: UInt64?

    func run() async throws {
        let identity = try key.identity()
        let (unregistered, failure) = try await server.withServers(
            silence: "Check the server's key and that it listens on this shard. The device may have been forgotten all the same."
        ) { server throws(PushClientError) in
            RegistrationOutput(
                try await server.unregister(
                    installationID: installation ?? identity.derivedInstallationID, version: version, as: identity), identity, server)
        }
        try output.print(oneOrMore: unregistered) { unregistered.flatMap { $0.lines("unregistered") } }
        if let failure { throw failure }
    }
}
