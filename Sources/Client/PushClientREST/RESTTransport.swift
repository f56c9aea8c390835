package import Envelope
import HTTPClient
public import Logging
public import PushClient
import Synchronization
import WakuREST

extension Node {
    /// Connects to a Waku node behind its REST API. Nothing is sent until a client is called.
    ///
    /// - Parameters:
    ///   - url: The address, `http://host:port`.
    ///   - pubsubTopic: The servers' shard.
    ///   - logger: Where the clients log, as ``Node`` describes. Nothing is logged by default.
    public init(url: String, pubsubTopic: String = defaultPubsubTopic, logger: Logger = silentLogger) {
        self.init(transport: RESTTransport(url: url), pubsubTopic: pubsubTopic, logger: logger)
    }
}

/// A Waku node behind its REST API, nwaku's or go-waku's.
public final class RESTTransport: NodeTransport {
    /// The place where the node keeps messages for a client.
    public struct Reception: Hashable, Sendable {
        private let name: String

        /// The node's store, which other clients may read too.
        public static let store = Reception(name: "store")
        /// The node's relay cache, which reading empties: only for a node without other clients. All clients in a program share the
        /// transport.
        public static let relayCache = Reception(name: "relay cache")
    }

    /// The maximum number of content topics per query: nodes reject more if the response has several pages (WAKU_REST.md §1.5).
    private static let maximumTopicCountPerQuery = 10

    private let node: WakuNode
    private let clock: NodeClock
    private let reception: Reception
    private let inbox = Mutex(RelayInbox())
    /// By how much this machine's clock is ahead of the newest message in the store, by shard.
    private let storeLeads = Mutex<[String: Duration]>([:])

    /// Creates the connection. The first call sends the first request.
    ///
    /// - Parameters:
    ///   - url: The node's REST API, `http://host:port` or `https://host:port`.
    ///   - reception: The place where messages are read.
    ///   - headers: Headers to send with each request, for example `Authorization` for a proxy in front of the node.
    ///   - certificateAuthorityFile: The path of a PEM file with the certificates to trust. Nil trusts the system's.
    public convenience init(
        url: String, reception: Reception = .store, headers: [String: String] = [:], certificateAuthorityFile: String? = nil
    ) {
        self.init(
            url: url, reception: reception, headers: headers, certificateAuthorityFile: certificateAuthorityFile, wallClock: .system)
    }

    /// - Parameter wallClock: This machine's clock.
    package init(
        url: String, reception: Reception = .store, headers: [String: String] = [:], certificateAuthorityFile: String? = nil,
        wallClock: WallClock
    ) {
        let client = HTTPClient(configuration: .init(certificateAuthorityFile: certificateAuthorityFile))
        clock = NodeClock(wallClock)
        node = WakuNode(
            url: url, client: client, headers: headers.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }, clock: clock)
        self.reception = reception
    }

    /// This machine's time.
    var now: Timestamp { clock.now }

    /// By how much this machine's clock is ahead of the node's, as the node's responses show.
    public var clockLead: Duration? { clock.lead }

    /// Publishes a message unchanged, and subscribes the node to the shard if it is not.
    public func publish(_ message: NodeMessage) async throws { try await publish(message.envelope) }

    /// Returns the messages that the node receives from now on. The sequence polls the node: some times a second while a reply may be due,
    /// then twice a second.
    public func subscribe(to contentTopics: Set<String>, on pubsubTopic: String) async throws -> RESTMessages {
        try await RESTMessages(self, Set(contentTopics.compactMap(Topic.init(contentTopic:))), pubsubTopic)
    }

    /// Returns the messages in the node's store since a time, or what was read from the relay cache.
    public func history(of contentTopics: Set<String>, on pubsubTopic: String, since start: Int64) async throws -> [NodeMessage] {
        let topics = Set(contentTopics.compactMap(Topic.init(contentTopic:)))
        return try await messages(on: pubsubTopic, topics: topics, since: Timestamp(nanoseconds: start)).map(NodeMessage.init)
    }

    private func publish(_ envelope: WakuEnvelope) async throws {
        do {
            try await node.publish(envelope)
        } catch let error where error.isNotSubscribed {
            // No other program reads this topic at the node, so the subscription does not take messages from anyone (WAKU_REST.md §1.2).
            try await asked { () async throws(NodeError) in
                try await node.subscribe(to: [envelope.pubsubTopic])
                try await node.publish(envelope)
            }
        } catch {
            throw PushClientError(error)
        }
    }

    /// Returns the messages on these topics since a time, perhaps more, and perhaps repeated.
    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        guard reception == .relayCache else {
            return try await asked { () async throws(NodeError) in try await stored(on: pubsubTopic, topics: topics, since: start) }
        }
        // A separate task, because the GET empties the cache: if it were cancelled, messages that other subscriptions wait for would be
        // lost.
        return try await Task {
            try await asked { () async throws(NodeError) in try await cached(on: pubsubTopic, topics: topics) }
        }.value
    }

    /// Compares this machine's clock with the newest message in the store, because a node may say no time, or a proxy before it a wrong
    /// one.
    func compareClocks(on pubsubTopic: String) async {
        guard reception == .store else { return }
        var query = StoreQuery()
        (query.pubsubTopic, query.isAscending, query.pageSize) = (pubsubTopic, false, 1)
        // A store that fails says so at the next query.
        guard let newest = try? await node.storePage(query).rows.first?.timestamp else { return }
        storeLeads.withLock { $0[pubsubTopic] = newest.duration(to: now) }
    }

    private func stored(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws(NodeError) -> [WakuEnvelope] {
        var query = StoreQuery()
        query.pubsubTopic = pubsubTopic
        // The store has the times of the network, whatever this machine's clock says. The newest message may be old, which asks for more.
        let leads = [clock.lead, storeLeads.withLock { $0[pubsubTopic] }].compactMap(\.self)
        query.startTime = start.advanced(by: .zero - (leads.max() ?? .zero))
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
            case .refused(let status, let text): .nodeRejected(status: status, text: text)
            case .unreachable(let reason): .nodeUnreachable(reason: reason)
            case .noRelay, .unintelligible, .tooLarge: .nodeUnreachable(reason: error.description)
            }
    }
}
