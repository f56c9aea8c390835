package import Envelope
package import HTTPClient
import JSON
import Wire

/// A Waku node's REST API, call by call (WAKU_REST.md §1): nwaku's, its successors' and go-waku's.
///
/// A node closes every connection after its answer, and its relay cache has one reader: do not point two programs at one node.
package struct WakuNode: Sendable {
    /// Twice the time that a node gives itself for publishing (WAKU_REST.md §1.2).
    package static let commandTimeout = Duration.seconds(10)
    /// A full cache of large messages takes a while, and what is not read to the end is lost.
    package static let readTimeout = Duration.seconds(30)
    /// A full cache of ordinary messages is 11 MB (WAKU_REST.md §3).
    static let maximumBatchByteCount = 64 << 20
    static let maximumAnswerByteCount = 64 << 10

    /// What tells it from other nodes: its URL without scheme and user, whose password is not for logs.
    package let name: String
    private let url: String
    /// Sends the requests, and runs tasks that do hardly anything else.
    package let client: HTTPClient
    private let headers: [(name: String, value: String)]
    private let commandTimeout: Duration
    private let readTimeout: Duration

    /// - Parameters:
    ///   - url: `http://host:port`, with or without a slash at its end.
    ///   - headers: for a proxy in front of it, sent with each request.
    package init(
        url: String, client: HTTPClient, headers: [(name: String, value: String)] = [], commandTimeout: Duration = Self.commandTimeout,
        readTimeout: Duration = Self.readTimeout
    ) {
        self.url = url.hasSuffix("/") ? String(url.dropLast()) : url
        let place = self.url.split(separator: "://", maxSplits: 1).last ?? ""
        let authority = place.prefix { $0 != "/" }
        name = String(place[(authority.lastIndex(of: "@").map { place.index(after: $0) } ?? place.startIndex)...])
        self.client = client
        self.headers = headers
        self.commandTimeout = commandTimeout
        self.readTimeout = readTimeout
    }

    /// Subscribes the node to pubsub topics: all or none.
    package func subscribe(to pubsubTopics: [String]) async throws(NodeError) {
        _ = try await send(.post, "/relay/v1/subscriptions", body: JSONText.array(pubsubTopics))
    }

    package func unsubscribe(from pubsubTopics: [String]) async throws(NodeError) {
        _ = try await send(.delete, "/relay/v1/subscriptions", body: JSONText.array(pubsubTopics))
    }

    /// Takes what came in on a pubsub topic since the last time; the node forgets it.
    ///
    /// - Parameter wants: whether a content topic is of interest; the base64 of other messages is not even decoded.
    /// - Returns: nil if the node is not subscribed to the topic.
    package func takeMessages(
        on pubsubTopic: String, where wants: (_ contentTopic: String) -> Bool = { _ in true }
    ) async throws(NodeError) -> [WakuEnvelope]? {
        let body: [UInt8]
        do {
            body = try await send(
                .get, messagesPath(pubsubTopic), timeout: readTimeout, maximumByteCount: Self.maximumBatchByteCount)
        } catch .refused(404, let text) where !Self.isNotReady(text) {
            return nil
        }
        return try read(body) { reader throws(JSONError) in
            var envelopes: [WakuEnvelope] = []
            if reader.readNull() { return envelopes }  // go-waku's empty list
            try reader.readArray { reader throws(JSONError) in
                let message = try MessageJSON(reading: &reader, as: .answer)
                guard wants(message.contentTopic ?? ""), let message = message.decoded() else { return }
                envelopes.append(WakuEnvelope(pubsubTopic: pubsubTopic, message: message))
            }
            return envelopes
        }
    }

    /// Publishes a message as it is: version and timestamp are the caller's. Have no more POSTs under way than the kind of node takes.
    ///
    /// - Returns: the kind, which the answer tells.
    @discardableResult
    package func publish(_ envelope: WakuEnvelope) async throws(NodeError) -> NodeKind {
        NodeKind(answer: try await send(.post, messagesPath(envelope.pubsubTopic), body: MessageJSON.request(envelope.message)))
    }

    /// What keeps the node from being of use, in its own words; empty when it is ready or cannot tell.
    package func healthIssues() async throws(NodeError) -> [String] {
        do {
            return try read(try await send(.get, "/health")) { reader throws(JSONError) in
                try NodeHealth(reading: &reader).healthIssues
            }
        } catch .refused(501, _) {
            return []  // go-waku without RLN has no health check
        }
    }

    /// One page of the node's store, or of a peer's.
    ///
    /// - Throws: `refused`, also for a peer's failure, which a node reports inside an HTTP 200.
    package func storePage(_ query: StoreQuery) async throws(NodeError) -> StorePage {
        let body = try await send(
            .get, "/store/v3/messages?" + query.parameters, timeout: readTimeout, maximumByteCount: Self.maximumBatchByteCount)
        let answer = try read(body) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
        guard answer.statusCode == 200 else {
            throw .refused(status: answer.statusCode, text: Self.printable(answer.statusDescription))
        }
        return answer.page
    }

    /// All pages of a query, one after the other.
    package func storeMessages(
        _ query: StoreQuery, page: (StorePage) async throws(NodeError) -> Void
    ) async throws(NodeError) {
        var query = query
        while true {
            let answer = try await storePage(query)
            try await page(answer)
            guard let cursor = answer.cursor else { return }
            // A node with a wrong cursor would be asked for ever.
            guard cursor != query.cursor else { throw .unintelligible("the store's cursor does not advance") }
            query.cursor = cursor
        }
    }

    private func messagesPath(_ pubsubTopic: String) -> String {
        "/relay/v1/messages/" + PercentEncoding.encode(pubsubTopic)
    }

    private func send(
        _ method: HTTPRequest.Method, _ path: String, body: String? = nil, timeout: Duration? = nil,
        maximumByteCount: Int = Self.maximumAnswerByteCount
    ) async throws(NodeError) -> [UInt8] {
        let request = HTTPRequest(
            method: method, url: url + path, headers: headers + (body == nil ? [] : [("Content-Type", "application/json")]),
            body: body.map { Array($0.utf8) }, timeout: timeout ?? commandTimeout, maximumResponseBodyByteCount: maximumByteCount)
        let response: HTTPResponse
        do {
            response = try await client.send(request)
        } catch {
            throw error.kind == .responseTooLarge ? .tooLarge : .unreachable("\(error.kind)")
        }
        guard response.status == 200 else {
            throw .refused(status: response.status, text: Self.printable(String(decoding: response.body, as: UTF8.self)))
        }
        return response.body
    }

    private func read<Value>(
        _ body: [UInt8], _ value: (inout JSONReader) throws(JSONError) -> Value
    ) throws(NodeError) -> Value {
        do throws(JSONError) {
            return try JSONReader.read(body, value)
        } catch {
            throw .unintelligible("line \(error.line), column \(error.column): \(error.reason)")
        }
    }

    /// Whether a 404 is about the node and not about the topic (WAKU_REST.md §0).
    private static func isNotReady(_ text: String) -> Bool {
        text.contains("endpoints are not available")
    }

    /// A node's text goes into logs: one line, and not a long one.
    private static func printable(_ text: String) -> String {
        String(text.prefix(200).map { $0.isNewline || $0.unicodeScalars.contains { $0.properties.generalCategory == .control } ? " " : $0 })
    }
}
