import WakuREST

/// A request to a node by method and path (WAKU_REST.md §1).
enum RelayRoute: Equatable {
    case health
    case info
    case version
    case subscribe
    case unsubscribe
    case messages(pubsubTopic: String)
    case publish(pubsubTopic: String)
    /// A method of `/relay/v1/auto`, which a node with static sharding rejects.
    case automatic(AutomaticRoute)
    /// A store query. `query` is the undecoded text after the question mark.
    case store(query: Substring)
    /// An unknown path or method, also of a protocol that the node does not serve.
    case unknown
    /// A topic in the path that is not percent-encoded correctly.
    case invalidParameter

    enum AutomaticRoute: Equatable {
        case subscribe
        case unsubscribe
        case messages(contentTopic: String)
        case publish
    }

    /// - Parameter target: The path and query, undecoded. A topic is a single segment: its `/` must be encoded, or the path is unknown.
    static func parse(method: String, target: String) -> RelayRoute {
        let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        let path = parts.first ?? ""
        let query = parts.dropFirst().first ?? ""

        switch (method, path) {
        case ("GET", "/health"): return .health
        case ("GET", "/info"), ("GET", "/debug/v1/info"): return .info
        case ("GET", "/version"), ("GET", "/debug/v1/version"): return .version
        case ("POST", "/relay/v1/subscriptions"): return .subscribe
        case ("DELETE", "/relay/v1/subscriptions"): return .unsubscribe
        case ("POST", "/relay/v1/auto/subscriptions"): return .automatic(.subscribe)
        case ("DELETE", "/relay/v1/auto/subscriptions"): return .automatic(.unsubscribe)
        case ("POST", "/relay/v1/auto/messages"): return .automatic(.publish)
        case ("GET", "/store/v3/messages"): return .store(query: query)
        default: break
        }
        if let segment = segment(of: path, after: "/relay/v1/messages/") {
            guard let topic = PercentEncoding.decode(segment) else { return .invalidParameter }
            if method == "GET" { return .messages(pubsubTopic: topic) }
            if method == "POST" { return .publish(pubsubTopic: topic) }
        }
        if method == "GET", let segment = segment(of: path, after: "/relay/v1/auto/messages/") {
            guard let topic = PercentEncoding.decode(segment) else { return .invalidParameter }
            return .automatic(.messages(contentTopic: topic))
        }
        return .unknown
    }

    private static func segment(of path: Substring, after prefix: String) -> Substring? {
        guard path.hasPrefix(prefix) else { return nil }
        let segment = path.dropFirst(prefix.count)
        return segment.isEmpty || segment.contains("/") ? nil : segment
    }
}
