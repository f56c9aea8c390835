import ArgumentParser
import Operator
import PushClient

/// Which node carries the messages.
struct NodeOptions: ParsableArguments {
    static let defaultURL = "http://127.0.0.1:8645"

    @Option(help: ArgumentHelp("The node's REST API (else PUSHCTL_NODE, else \(defaultURL)).", valueName: "url"))
    var node: String?

    @Option(help: ArgumentHelp("The shard on which servers and clients meet.", valueName: "topic"))
    var pubsubTopic = NodeAccess.defaultPubsubTopic

    @Flag(help: "Read answers from the node's relay cache, which empties it, and not from its store: for a node that serves nobody else.")
    var ownNode = false

    /// Lets a command talk through the node, and explains what goes wrong.
    ///
    /// - Parameter silence: what it may mean if nobody answers.
    func withNode<Result>(silence: String, _ body: (Node) async throws(PushClientError) -> Result) async throws(Failure) -> Result {
        let access = try access()
        do {
            return try await body(Node(access))
        } catch {
            throw Failure(error, node: access, silence: silence)
        }
    }

    /// How to get at the node.
    func access() throws(Failure) -> NodeAccess {
        let setting = Setting(node, option: "--node", variable: "PUSHCTL_NODE")
        let url = setting?.text ?? Self.defaultURL
        if let setting, !["http://", "https://"].contains(where: url.hasPrefix) {
            throw setting.failure("A node's address looks like \(Self.defaultURL).")
        }
        return NodeAccess(url: url, pubsubTopic: pubsubTopic, reception: ownNode ? .relayCache : .store)
    }
}
