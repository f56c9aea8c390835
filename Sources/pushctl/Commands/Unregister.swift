import ArgumentParser
import PushClient

struct Unregister: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Makes a server forget a device.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("Which of the key's devices. Default: the UUID made from the key.", valueName: "id"))
    var installation: String?

    @Option(help: ArgumentHelp("Higher than that of the registration. Default: milliseconds since 1970.", valueName: "number"))
    var version: UInt64?

    func run() async throws {
        let identity = try key.identity()
        let receipt = try await server.withServer(
            silence: "Check the server's key and that it listens on this shard. The device may have been forgotten all the same."
        ) { server throws(PushClientError) in
            try await server.unregister(
                installationID: installation ?? identity.derivedInstallationID, version: version, as: identity)
        }
        try output.print(RegistrationOutput(receipt, identity)) {
            [
                "unregistered",
                "  public key    \(identity.publicKey.hex)",
                "  installation  \(receipt.installationID)",
                "  version       \(receipt.version)",
            ]
        }
    }
}
