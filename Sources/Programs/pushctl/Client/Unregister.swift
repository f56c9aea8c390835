import ArgumentParser
import PushClient

struct Unregister: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Unregister a device from servers.")

    @OptionGroup var server: ServerOptions
    @OptionGroup var key: KeyOptions
    @OptionGroup var state: StateOptions
    @OptionGroup var output: OutputOptions

    @Option(help: ArgumentHelp("The installation id of the device. Default: a UUID derived from the key.", valueName: "id"))
    var installation: String?

    @Option(
        help: ArgumentHelp(
            "The version, above the registration's. Default: the last one plus 1, or the milliseconds since 1970.", valueName: "number"))
    var registrationVersion: UInt64?

    func run() async throws {
        // The state file, which is the only file that this command creates, comes after every check.
        try server.check()
        let identity = try key.identity()
        let installationID = installation ?? identity.derivedInstallationID
        let state = registrationVersion == nil ? try state.open(beside: key) : nil
        let (unregistered, failure) = try await server.withServers(
            silence: "Check the server's key and that it listens on this shard. The server may have unregistered the device anyway."
        ) { server throws in
            let receipt =
                if let state {
                    try await server.client(of: identity, installationID: installationID, state: state).tell(nil, to: server.key)
                } else {
                    try await server.unregister(installationID: installationID, version: registrationVersion, as: identity)
                }
            return RegistrationOutput(receipt, identity, server)
        }
        try output.print(unregistered) { unregistered.flatMap { $0.lines("unregistered") } }
        if let failure { throw failure }
    }
}
