import Bytes
package import PushClient
package import PushClientREST

/// The node that an operator names, and how to receive from it.
package struct NodeAccess: HoldsSecret, Sendable {
    /// The node's REST API, `http://host:port`, perhaps with a user and password.
    package let url: String
    /// The shard that the server uses.
    package let pubsubTopic: String
    /// The place where replies are read.
    package let reception: RESTTransport.Reception
    /// Headers for a proxy in front of the node.
    package var headers: [(name: String, value: String)] = []
    /// The path of a PEM file with the certificates to trust, or nil for the system's.
    package var certificateAuthorityFile: String?

    package init(url: String, pubsubTopic: String, reception: RESTTransport.Reception) {
        self.url = url
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }

    /// The node for clients.
    package var node: Node {
        let transport = RESTTransport(
            url: url, reception: reception, headers: Dictionary(headers.map { ($0.name, $0.value) }) { $1 },
            certificateAuthorityFile: certificateAuthorityFile)
        return Node(transport: transport, pubsubTopic: pubsubTopic)
    }

    /// The URL for an operator, without user and password.
    var publicURL: String { url.replacing(/\/\/[^\/]*@/, with: "//") }
}
