import Envelope
import HTTPClient
import Synchronization
import WakuREST

/// A Waku node behind its REST API.
final class RESTNode: MessageNode {
    /// The maximum number of content topics per query: nodes reject more if the response has several pages (WAKU_REST.md §1.5).
    private static let maximumTopicCountPerQuery = 10

    private let node: WakuNode
    private let reception: NodeAccess.Reception
    private let inbox = Mutex(RelayInbox())

    init(_ access: NodeAccess) {
        node = WakuNode(url: access.url, client: HTTPClient())
        reception = access.reception
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        do {
            try await node.publish(envelope)
        } catch .refused(400, let text) where text.contains("not subscribed") {
            // No other program reads this topic at the node, so the subscription takes no messages from anyone (WAKU_REST.md §1.2).
            try await asked { () async throws(NodeError) in
                try await node.subscribe(to: [envelope.pubsubTopic])
                try await node.publish(envelope)
            }
        } catch {
            throw PushClientError(error)
        }
    }

    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        try await asked { () async throws(NodeError) in
            switch reception {
            case .store: try await stored(on: pubsubTopic, topics: topics, since: start)
            case .relayCache: try await cached(on: pubsubTopic, topics: topics)
            }
        }
    }

    private func stored(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws(NodeError) -> [WakuEnvelope] {
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        query.startTime = start
        var remaining = topics.map(\.contentTopic)[...]
        var envelopes: [WakuEnvelope] = []
        while !remaining.isEmpty {
            query.contentTopics = Array(remaining.prefix(Self.maximumTopicCountPerQuery))
            remaining = remaining.dropFirst(Self.maximumTopicCountPerQuery)
            try await node.storeMessages(query) { page in envelopes += page.rows.compactMap(\.envelope) }
        }
        return envelopes
    }

    /// Reads the relay cache, and subscribes the node only if it is not subscribed: at go-waku a second subscription creates another cache
    /// (WAKU_REST.md §1.2).
    private func cached(on pubsubTopic: String, topics: Set<Topic>) async throws(NodeError) -> [WakuEnvelope] {
        inbox.withLock { inbox in
            for topic in topics { inbox.open(topic) }
        }
        if let envelopes = try await node.takeMessages(on: pubsubTopic, where: { text in inbox.withLock { $0.wants(text) } }) {
            inbox.withLock { inbox in
                for envelope in envelopes { inbox.add(envelope) }
            }
        } else {
            try await node.subscribe(to: [pubsubTopic])
        }
        return inbox.withLock { inbox in topics.flatMap { inbox.envelopes(on: $0) } }
    }

    private func asked<Answer>(_ body: () async throws(NodeError) -> Answer) async throws -> Answer {
        do {
            return try await body()
        } catch {
            throw PushClientError(error)
        }
    }
}

extension PushClientError {
    fileprivate init(_ error: NodeError) {
        self =
            switch error {
            case .refused(let status, let text): .nodeRefused(status: status, text: text)
            case .unreachable(let reason): .nodeUnreachable(reason: reason)
            case .unintelligible, .tooLarge: .nodeUnreachable(reason: error.description)
            }
    }
}
