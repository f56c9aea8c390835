import ArgumentParser
import Operator
import PushClient
import PushClientREST

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

    func access() throws(Failure) -> NodeAccess {
        guard pubsubTopics.count <= 1 else { throw .usage("This command uses a single shard; name one with --pubsub-topic.") }
        return try accessOnFirstShard()
    }

    /// For a command that uses further shards by itself.
    func accessOnFirstShard() throws(Failure) -> NodeAccess {
        let setting = Setting(node, option: "--node", variable: "PUSHCTL_NODE")
        let url = setting?.text ?? Self.defaultURL
        if let setting, !["http://", "https://"].contains(where: url.hasPrefix) {
            throw setting.failure("A node's address looks like \(Self.defaultURL).")
        }
        return NodeAccess(url: url, pubsubTopic: pubsubTopics.first ?? Node.defaultPubsubTopic, reception: ownNode ? .relayCache : .store)
    }
}
