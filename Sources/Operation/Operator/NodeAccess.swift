package import PushClient
package import PushClientREST

/// The node that an operator names, and how to receive from it.
package struct NodeAccess: Sendable {
    /// The node's REST API, `http://host:port`.
    package let url: String
    /// The shard that the server uses.
    package let pubsubTopic: String
    /// The place where replies are read.
    package let reception: RESTTransport.Reception

    package init(url: String, pubsubTopic: String, reception: RESTTransport.Reception) {
        self.url = url
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }

    /// The node for clients.
    package var node: Node { Node(transport: RESTTransport(url: url, reception: reception), pubsubTopic: pubsubTopic) }
}
