import Bytes
package import Envelope
package import HTTPClient
import JSON
import Wire

/// A Waku node's REST API (WAKU_REST.md §1): nwaku, its successors, or go-waku.
///
/// A node closes each connection after its response, and its relay cache is for a single reader, so do not use the same node from two
/// programs.
package struct WakuNode: HoldsSecret, Sendable {
    /// The timeout for a command: twice the node's own timeout for publishing (WAKU_REST.md §1.2).
    package static let commandTimeout = Duration.seconds(10)
    /// The timeout for a read: a full cache of large messages takes long, and messages that are not read to the end are lost.
    package static let readTimeout = Duration.seconds(30)
    /// The largest batch to read. A full cache of ordinary messages takes 11 MB (WAKU_REST.md §3).
    static let maximumBatchByteCount = 64 << 20
    /// The maximum number of messages in a batch: more than the largest cache that nodes can keep (WAKU_REST.md §2.1). Small messages take
    /// many times their size in memory.
    static let maximumBatchCount = 131_072
    /// A message has ten members, including its proof's.
    static let maximumBatchValueCount = 16 * maximumBatchCount
    /// A listing is kept in memory, so its payloads are limited to four full pages.
    static let maximumListingByteCount = 4 * maximumBatchByteCount
    static let maximumResponseByteCount = 64 << 10

    /// The node's name among several: its URL without scheme and user, because a password must not reach the log.
    package let name: String
    private let url: String
    /// The client that sends the requests.
    private let client: HTTPClient
    private let headers: [(name: String, value: String)]
    private let commandTimeout: Duration
    private let readTimeout: Duration
    /// The node's clock, for a caller that needs to know it.
    private let clock: NodeClock?

    /// - Parameters:
    ///   - url: The base URL, `http://host:port`, with or without a final slash.
    ///   - headers: Headers sent with each request, for a proxy in front of the node.
    ///   - clock: Learns the node's time from each response.
    package init(
        url: String, client: HTTPClient, headers: [(name: String, value: String)] = [], commandTimeout: Duration = Self.commandTimeout,
        readTimeout: Duration = Self.readTimeout, clock: NodeClock? = nil
    ) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        let place = self.url.split(separator: "://", maxSplits: 1).last ?? ""
        let authority = place.prefix { $0 != "/" }
        name = String(place[(authority.lastIndex(of: "@").map { place.index(after: $0) } ?? place.startIndex)...])
        self.client = client
        self.headers = headers
        self.commandTimeout = commandTimeout
        self.readTimeout = readTimeout
        self.clock = clock
    }

    /// Subscribes the node to all the pubsub topics, or to none on failure. Nothing unsubscribes it, which nodes do not survive
    /// (WAKU_REST.md §2.6).
    ///
    /// - Throws: `noRelay` if the node does not know the request, with what its health says about the reason.
    package func subscribe(to pubsubTopics: [String]) async throws(NodeError) {
        do {
            _ = try await send(.post, "/relay/v1/subscriptions", body: JSONText.array(pubsubTopics))
        } catch .refused(404, "") {
            throw .noRelay((try? await health())?.relayAbsence ?? .unknown)
        }
    }

    /// Takes the messages that arrived on a pubsub topic since the last call. The node forgets them.
    ///
    /// - Parameter wants: Whether a content topic is of interest. The base64 of other messages is not decoded.
    /// - Returns: The messages, or nil if the node is not subscribed to the topic, or has no relay.
    package func takeMessages(
        on pubsubTopic: String, where wants: (_ contentTopic: String) -> Bool = { _ in true }
    ) async throws(NodeError) -> [WakuEnvelope]? {
        let body: [UInt8]
        do {
            body = try await send(
                .get, messagesPath(pubsubTopic), timeout: readTimeout, maximumByteCount: Self.maximumBatchByteCount)
        } catch .refused(404, let text) where Self.isNotSubscribed(text) {
            return nil
        }
        return try read(body, maximumValueCount: Self.maximumBatchValueCount) { reader throws(JSONError) in
            var envelopes: [WakuEnvelope] = []
            if reader.readNull() { return envelopes }  // go-waku's empty list
            try reader.readArray { reader throws(JSONError) in
                guard envelopes.count < Self.maximumBatchCount else { throw reader.error("more than \(Self.maximumBatchCount) messages") }
                let message = try MessageJSON(reading: &reader, as: .answer)
                guard wants(message.contentTopic ?? ""), let message = message.decoded() else { return }
                envelopes.append(WakuEnvelope(pubsubTopic: pubsubTopic, message: message))
            }
            return envelopes
        }
    }

    /// Publishes a message unchanged: the caller sets version and timestamp. Do not exceed the kind's limit of POSTs in flight.
    ///
    /// - Returns: The kind of node, as its response shows.
    /// - Throws: `refused` without a request for a `meta` that is too long, because the node would drop the message silently.
    @discardableResult
    package func publish(_ envelope: WakuEnvelope) async throws(NodeError) -> NodeKind {
        guard envelope.message.meta.count <= MessageJSON.maximumMetaByteCount else {
            throw .refused(status: 400, text: "meta exceeds maximum of \(MessageJSON.maximumMetaByteCount) bytes")
        }
        return NodeKind(answer: try await send(.post, messagesPath(envelope.pubsubTopic), body: MessageJSON.request(envelope.message)))
    }

    /// Returns the node's health in its own words. Without a health check, a node counts as healthy.
    package func health() async throws(NodeError) -> NodeHealth {
        do {
            let response = try await respond(to: .get, "/health")
            var health = try read(response.body) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
            health.time = response.date.map { Timestamp(nanoseconds: 0).advanced(by: $0) }
            return health
        } catch .refused(501, _) {
            return NodeHealth()  // go-waku without RLN has no health check
        }
    }

    /// Returns a page from the node's store, or from a peer's.
    ///
    /// - Throws: `refused`, also if the peer failed, which the node reports inside an HTTP 200.
    package func storePage(_ query: StoreQuery) async throws(NodeError) -> StorePage {
        let body = try await send(
            .get, "/store/v3/messages?" + query.parameters, timeout: readTimeout, maximumByteCount: Self.maximumBatchByteCount)
        let answer = try read(body) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
        guard answer.statusCode == 200 else {
            throw .refused(status: answer.statusCode, text: PeerText(answer.statusDescription).description)
        }
        return answer.page
    }

    /// Reads a query's pages in sequence, for a caller that expects few.
    ///
    /// - Throws: `unintelligible`, also for more pages than fit into memory.
    package func storeMessages(
        _ query: StoreQuery, page: (StorePage) async throws(NodeError) -> Void
    ) async throws(NodeError) {
        var listing = StoreListing(query)
        var (rowCount, byteCount) = (0, 0)
        while !listing.isComplete {
            var answer = try await storePage(listing.query)
            rowCount += answer.rows.count
            byteCount += answer.rows.reduce(0) { $0 + $1.byteCount }
            guard rowCount <= Self.maximumBatchCount, byteCount <= Self.maximumListingByteCount else {
                throw .unintelligible("its store's pages do not end")
            }
            do { answer.rows = try listing.take(answer) } catch { throw .unintelligible("\(error)") }
            try await page(answer)
        }
    }

    private func messagesPath(_ pubsubTopic: String) -> String {
        "/relay/v1/messages/" + PercentEncoding.encode(pubsubTopic)
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, body: String? = nil, timeout: Duration? = nil,
        maximumByteCount: Int = Self.maximumResponseByteCount
    ) async throws(NodeError) -> [UInt8] {
        try await respond(to: method, path, body: body, timeout: timeout, maximumByteCount: maximumByteCount).body
    }

    private func respond(
        to method: HTTPRequest.Method, _ path: String, body: String? = nil, timeout: Duration? = nil,
        maximumByteCount: Int = Self.maximumResponseByteCount
    ) async throws(NodeError) -> HTTPResponse {
        let request = HTTPRequest(
            method: method, url: url + path, headers: headers + (body == nil ? [] : [("Content-Type", "application/json")]),
            body: body.map { Array($0.utf8) }, timeout: timeout ?? commandTimeout, maximumResponseBodyByteCount: maximumByteCount)
        let response: HTTPResponse
        do {
            let start = clock?.now
            response = try await client.send(request)
            if let clock, let start { clock.note(response.headers["Date"], to: start) }
        } catch {
            throw error.kind == .responseTooLarge ? .tooLarge : .unreachable("\(error.kind)")
        }
        guard response.status == 200 else {
            throw .refused(status: response.status, text: PeerText(utf8: response.body).description)
        }
        return response
    }

    private func read<Value>(
        _ body: [UInt8], maximumValueCount: Int = JSONReader.maximumValueCount,
        _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(NodeError) -> Value {
        do throws(JSONError) {
            return try JSONReader.read(body, maximumValueCount: maximumValueCount, value)
        } catch {
            throw .unintelligible("line \(error.line), column \(error.column): \(error.reason)")
        }
    }

    /// Whether a 404 may mean that the node is not subscribed to the topic: without text at nwaku, with either of two texts at go-waku
    /// (WAKU_REST.md §0). Any other text comes from a proxy or another program. nwaku responds in the same way if it has no relay, which
    /// the subscription then shows.
    private static func isNotSubscribed(_ text: String) -> Bool {
        ["", "no subscription found for pubsubTopic", "consume channel is closed for subscription"].contains(text)
    }
}
