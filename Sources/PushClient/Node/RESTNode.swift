import Envelope
import HTTPClient
import Synchronization
import Transport

/// A Waku node behind its REST API.
final class RESTNode: MessageNode {
    private let node: WakuNode
    private let reception: NodeAccess.Reception
    private let inbox = Mutex(RelayInbox())

    init(_ access: NodeAccess) {
        node = WakuNode(url: access.url, client: HTTPClient())
        reception = access.reception
    }

    func publish(_ envelope: WakuEnvelope) async throws(PushClientError) {
        do {
            try await node.publish(envelope)
        } catch .refused(400, let text) where text.contains("not subscribed") {
            // Nobody reads this topic at the node, so subscribing takes nothing from anybody (WAKU_REST.md §1.2).
            try await asked { () async throws(TransportError) in
                try await node.subscribe(to: [envelope.pubsubTopic])
                try await node.publish(envelope)
            }
        } catch {
            throw PushClientError(error)
        }
    }

    func messages(on pubsubTopic: String, topic: Topic, since start: Timestamp) async throws(PushClientError) -> [WakuEnvelope] {
        try await asked { () async throws(TransportError) in
            switch reception {
            case .store: try await stored(on: pubsubTopic, topic: topic, since: start)
            case .relayCache: try await cached(on: pubsubTopic, topic: topic)
            }
        }
    }

    private func stored(on pubsubTopic: String, topic: Topic, since start: Timestamp) async throws(TransportError) -> [WakuEnvelope] {
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        query.contentTopics = [topic.contentTopic]
        query.startTime = start
        var envelopes: [WakuEnvelope] = []
        try await node.storeMessages(query) { page in envelopes += page.rows.compactMap(\.envelope) }
        return envelopes
    }

    /// Subscribes when the node is not: a second subscription at go-waku is another cache (WAKU_REST.md §1.2).
    private func cached(on pubsubTopic: String, topic: Topic) async throws(TransportError) -> [WakuEnvelope] {
        inbox.withLock { $0.open(topic) }
        if let envelopes = try await node.takeMessages(on: pubsubTopic, where: { text in inbox.withLock { $0.wants(text) } }) {
            inbox.withLock { inbox in
                for envelope in envelopes { inbox.add(envelope) }
            }
        } else {
            try await node.subscribe(to: [pubsubTopic])
        }
        return inbox.withLock { $0.envelopes(on: topic) }
    }

    private func asked<Answer>(_ body: () async throws(TransportError) -> Answer) async throws(PushClientError) -> Answer {
        do {
            return try await body()
        } catch {
            throw PushClientError(error)
        }
    }
}

extension PushClientError {
    fileprivate init(_ error: TransportError) {
        self =
            switch error {
            case .refused(let status, let text): .nodeRefused(status: status, text: text)
            case .unreachable(let reason): .nodeUnreachable(reason: reason)
            case .unintelligible, .tooLarge, .notRunning, .queueFull, .outdated: .nodeUnreachable(reason: error.description)
            }
    }
}
