import ArgumentParser
import Operator
import PushClient

/// The options that name servers and a node.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The server's public key, 0x04… or compressed (else PUSHCTL_SERVER); registering and unregistering take several.",
            valueName: "key"))
    var server: [String] = []

    @Option(
        help: ArgumentHelp("The time to wait for a reply, like 500ms or 2m; default 10s.", valueName: "time"),
        transform: TimeArgument.duration)
    var timeout = PushServer.defaultTimeout

    @OptionGroup var node: NodeOptions

    /// Runs a command's body with the server, and explains its failure.
    ///
    /// - Parameter silence: The possible reason for a missing reply.
    func withServer<Result>(
        silence: String, _ body: (PushServer) async throws -> Result
    ) async throws(Failure) -> Result {
        try await with(serverKey(), silence: silence, body)
    }

    /// Runs a command's body with each server, even if it fails with some.
    ///
    /// - Returns: The results from the servers that did not fail, and the first failure.
    func withServers<Result>(
        silence: String, _ body: (PushServer) async throws -> Result
    ) async throws(Failure) -> (results: [Result], failure: Failure?) {
        var results: [Result] = []
        var failure: Failure?
        let keys = try serverKeys()
        for key in keys {
            do {
                results.append(try await with(key, silence: silence, body))
            } catch {
                guard failure == nil else { continue }
                failure = error
                failure?.server = key
                if keys.count > 1 { failure?.message = "\(key.hex): \(error.message)" }
            }
        }
        return (results, failure)
    }

    /// Checks the servers' keys and the node's address, for commands that create files: a command with a mistake creates none.
    func check() throws(Failure) {
        _ = try serverKeys()
        _ = try node.access()
    }

    private func with<Result>(
        _ key: PublicKey, silence: String, _ body: (PushServer) async throws -> Result
    ) async throws(Failure) -> Result {
        try await node.withNode(silence: silence) { node throws in
            try await body(PushServer(key, node: node, timeout: timeout))
        }
    }

    /// Whether a server is named. If none is, some commands query all servers that know an owner.
    var namesServer: Bool { !settings.isEmpty }

    /// For commands that use a single server.
    func serverKey() throws(Failure) -> PublicKey {
        let keys = try serverKeys()
        guard keys.count == 1, let key = keys.first else { throw .usage("This command uses a single server; name one with --server.") }
        return key
    }

    private func serverKeys() throws(Failure) -> [PublicKey] {
        guard namesServer else {
            throw .usage("Which server? Give its public key with --server or PUSHCTL_SERVER; `pushserver identity` prints it.")
        }
        var keys: [PublicKey] = []
        for setting in settings {
            do {
                keys.append(try PublicKey(hex: setting.text))
            } catch {
                throw setting.failure(error.description)
            }
        }
        return keys
    }

    private var settings: [Setting] {
        let values: [String?] = server.isEmpty ? [nil] : server
        return values.compactMap { Setting($0, option: "--server", variable: "PUSHCTL_SERVER") }
    }
}
