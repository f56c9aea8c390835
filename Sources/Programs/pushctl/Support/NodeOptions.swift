import ArgumentParser
import Operator
import PushClient
import PushClientREST
import Settings

/// The options that name a node.
struct NodeOptions: ParsableArguments {
    static let defaultURL = "http://127.0.0.1:8645"

    @Option(help: ArgumentHelp("The node's REST API (else PUSHCTL_NODE, else \(defaultURL)).", valueName: "url"))
    var node: String?

    @Option(
        name: .customLong("pubsub-topic"),
        help: ArgumentHelp(
            "The pubsub topic of the shard that servers and clients use; default: \(Node.defaultPubsubTopic). conformance takes two.",
            valueName: "topic"))
    var pubsubTopics: [String] = []

    @Flag(help: "Read replies from the node's relay cache, which empties it, instead of its store: for a node without other readers.")
    var ownNode = false

    /// Runs a command's body with the node, and explains its failure.
    ///
    /// - Parameter silence: The possible reason for a missing reply.
    func withNode<Result>(silence: String, _ body: (Node) async throws -> Result) async throws(Failure) -> Result {
        let access = try access()
        do {
            return try await body(access.node)
        } catch {
            throw Failure(error, node: access, silence: silence)
        }
    }

    func access(url: String = defaultURL, pubsubTopic: String = Node.defaultPubsubTopic) throws(Failure) -> NodeAccess {
        guard pubsubTopics.count <= 1 else { throw .usage("This command uses a single shard; name one with --pubsub-topic.") }
        return try accessOnFirstShard(url: url, pubsubTopic: pubsubTopic)
    }

    /// For the server of these settings: its own node and shard, if nobody names others.
    func access(of settings: OperatorSettings) throws(Failure) -> NodeAccess {
        guard settings.areNamed, let server = try? settings.settings() else { return try access() }
        let relay = server.embeddedListen.first { $0.port != 0 }.map { "http://\($0)" }
        let url = server.transportKind == .waku ? server.wakuURLs.first : relay
        var access = try access(url: url ?? Self.defaultURL, pubsubTopic: server.pubsubTopics.first ?? Node.defaultPubsubTopic)
        guard server.transportKind == .waku, access.url == url else { return access }
        access.headers = server.wakuHeaders
        access.certificateAuthorityFile = server.wakuCertificateAuthorityFile
        return access
    }

    /// For a command that uses further shards by itself.
    func accessOnFirstShard(url: String = defaultURL, pubsubTopic: String = Node.defaultPubsubTopic) throws(Failure) -> NodeAccess {
        let setting = Setting(node, option: "--node", variable: "PUSHCTL_NODE")
        let url = setting?.text ?? url
        if let setting, !["http://", "https://"].contains(where: url.hasPrefix) {
            throw setting.failure("A node's address looks like \(Self.defaultURL).")
        }
        return NodeAccess(url: url, pubsubTopic: pubsubTopics.first ?? pubsubTopic, reception: ownNode ? .relayCache : .store)
    }
}
