import ArgumentParser
import PushClient

/// Which server, through which node.
struct ServerOptions: ParsableArguments {
    static let defaultNodeURL = "http://127.0.0.1:8645"

    @Option(help: ArgumentHelp("The server's public key, 0x04… or compressed (else PUSHCTL_SERVER).", valueName: "key"))
    var server: String?

    @Option(help: ArgumentHelp("The node's REST API (else PUSHCTL_NODE, else \(defaultNodeURL)).", valueName: "url"))
    var node: String?

    @Option(help: ArgumentHelp("The shard on which the server listens.", valueName: "topic"))
    var pubsubTopic = NodeAccess.defaultPubsubTopic

    @Option(help: ArgumentHelp("How long to wait for the answer, like 500ms or 2m; default 10s.", valueName: "time"), transform: duration)
    var timeout = PushServer.defaultTimeout

    @Flag(help: "Read answers from the node's relay cache, which empties it, and not from its store: for a node that serves nobody else.")
    var ownNode = false

    /// Lets a command talk to the server, and explains what goes wrong.
    ///
    /// - Parameter silence: what it may mean if the server does not answer.
    func withServer<Result>(
        silence: String, _ body: (PushServer) async throws(PushClientError) -> Result
    ) async throws(Failure) -> Result {
        let access = try access()
        let server = PushServer(try serverKey(), node: Node(access), timeout: timeout)
        do {
            return try await body(server)
        } catch {
            throw Failure(error, node: access, silence: silence)
        }
    }

    private func serverKey() throws(Failure) -> IdentityKey {
        guard let setting = Setting(server, option: "--server", variable: "PUSHCTL_SERVER") else {
            throw .usage("Which server? Give its public key with --server or PUSHCTL_SERVER; `pushserver identity` prints it.")
        }
        do {
            return try IdentityKey(hex: setting.text)
        } catch {
            throw setting.failure(error.description)
        }
    }

    private func access() throws(Failure) -> NodeAccess {
        let setting = Setting(node, option: "--node", variable: "PUSHCTL_NODE")
        let url = setting?.text ?? Self.defaultNodeURL
        if let setting, !["http://", "https://"].contains(where: url.hasPrefix) {
            throw setting.failure("A node's address looks like \(Self.defaultNodeURL).")
        }
        return NodeAccess(url: url, pubsubTopic: pubsubTopic, reception: ownNode ? .relayCache : .store)
    }

    /// Reads `10s`, `500ms`, `2m`; more than an hour is a mistake.
    @Sendable private static func duration(_ text: String) throws -> Duration {
        let units: [(suffix: String, unit: Duration)] = [("ms", .milliseconds(1)), ("s", .seconds(1)), ("m", .seconds(60))]
        guard let (suffix, unit) = units.first(where: { text.hasSuffix($0.suffix) }), let count = Int(text.dropLast(suffix.count)),
            (1...3_600_000).contains(count), unit * count <= .seconds(3_600)
        else { throw ValidationError("A time looks like 10s, 500ms or 2m, and is an hour at most.") }
        return unit * count
    }
}
