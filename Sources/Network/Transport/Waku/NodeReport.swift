/// A node's state for the status page.
package struct NodeReport: Sendable, Equatable {
    /// The node's host and port.
    package let name: String
    /// The reasons why the node is not usable, or empty if it is.
    package let issues: [String]
    /// The node's connection to its network, in its own words, or nil if it reports none.
    package let connection: String?
    /// The time since the node last delivered a message on the server's shards, or nil if it has not done so since the start.
    package let lastMessageAge: Duration?
    /// The number of gaps since the start in which live messages may have been missed, without the gap that each start has.
    package let gapCount: Int
}
