import ArgumentParser
import PushClient

/// Which server, through which node.
struct ServerOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The server's public key, 0x04… or compressed (else PUSHCTL_SERVER).", valueName: "key"))
    var server: String?

    @Option(
        help: ArgumentHelp("How long to wait for the answer, like 500ms or 2m; default 10s.", valueName: "time"),
        transform: TimeArgument.duration)
    var timeout = PushServer.defaultTimeout

    @OptionGroup var node: NodeOptions

    /// Lets a command talk to the server, and explains what goes wrong.
    ///
    /// - Parameter silence: what it may mean if the server does not answer.
    func withServer<Result>(
        silence: String, _ body: (PushServer) async throws(PushClientError) -> Result
    ) async throws(Failure) -> Result {
        let key = try serverKey()
        return try await node.withNode(silence: silence) { node throws(PushClientError) in
            try await body(PushServer(key, node: node, timeout: timeout))
        }
    }

    /// Whether a server is named; where that is left to the tool, all that know a person are asked.
    var namesServer: Bool { Setting(server, option: "--server", variable: "PUSHCTL_SERVER") != nil }

    func serverKey() throws(Failure) -> IdentityKey {
        guard let setting = Setting(server, option: "--server", variable: "PUSHCTL_SERVER") else {
            throw .usage("Which server? Give its public key with --server or PUSHCTL_SERVER; `pushserver identity` prints it.")
        }
        do {
            return try IdentityKey(hex: setting.text)
        } catch {
            throw setting.failure(error.description)
        }
    }
}
