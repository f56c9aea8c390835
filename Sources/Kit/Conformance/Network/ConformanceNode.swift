package import HTTPClient
import Tasks
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

    /// The node's REST API, without a path.
    package let url: String
    let api: WakuNode
    /// The shard that all rules use, except those about a second one.
    let pubsubTopic: String
    /// Nil skips the rules about a second shard.
    let secondPubsubTopic: String?
    package let reception: Reception

    package init(
        url: String, pubsubTopic: String, secondPubsubTopic: String? = nil, reception: Reception, client: HTTPClient = HTTPClient()
    ) {
        self.url = url
        api = WakuNode(url: url, client: client)
        self.pubsubTopic = pubsubTopic
        self.secondPubsubTopic = secondPubsubTopic
        self.reception = reception
    }

    var pubsubTopics: [String] { [pubsubTopic] + (secondPubsubTopic.map { [$0] } ?? []) }

    /// The back-off of requests to a node that responds with 5xx or not at all, which either recovers within seconds or is down.
    private static let backOff = BackOff(first: .milliseconds(250), longest: .seconds(2), minimumShare: 1)
    private static let maximumAttemptCount = 4

    /// Makes a request to the node, again if it fails in a way that may pass.
    func retrying<Value>(_ clock: any Clock<Duration>, _ body: () async throws(NodeError) -> Value) async throws -> Value {
        for failureCount in 1..<Self.maximumAttemptCount {
            do throws(NodeError) {
                return try await body()
            } catch {
                guard error.mayPass(for: .judging) else { throw error }
                try await clock.sleep(for: Self.backOff.bound(afterFailures: failureCount))
            }
        }
        return try await body()
    }
}
