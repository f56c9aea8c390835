package import HTTPClient
import WakuREST

/// The node through which the kit speaks to the tested server, and how it reads there.
package struct ConformanceNode: Sendable {
    /// The way in which replies are read.
    package enum Reception: Sendable {
        /// From the node's store: other programs may use the node at the same time.
        case store
        /// From the node's relay cache, which a read empties: for a node without other readers (WAKU_REST.md §2.1).
        case relayCache
    }

    /// The base URL of the node's REST API.
    package let url: String
    let api: WakuNode
    let pubsubTopic: String
    package let reception: Reception

    package init(url: String, pubsubTopic: String, reception: Reception, client: HTTPClient = HTTPClient()) {
        self.url = url
        api = WakuNode(url: url, client: client)
        self.pubsubTopic = pubsubTopic
        self.reception = reception
    }
}
