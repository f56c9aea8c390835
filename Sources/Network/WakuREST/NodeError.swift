/// The reason why a node did not perform a request.
package enum NodeError: Error, Equatable, CustomStringConvertible {
    /// The node sent no usable response. It may have performed the request.
    case unreachable(String)
    /// The status was not 200. go-waku answers 500 with an empty body if it cannot publish, usually because it lacks peers (WAKU_REST.md
    /// §1.2).
    case refused(status: Int, text: String)
    /// The node has no relay endpoints.
    case noRelay(RelayAbsence)
    /// Status 200 with a body that does not match the request.
    case unintelligible(String)
    /// The response exceeds the maximum size. A GET's messages are then lost to the server, but are in the node's store.
    case tooLarge

    /// Whether the node's RLN quota for this epoch is exhausted (WAKU_REST.md §1.2).
    package var isQuotaExhausted: Bool {
        guard case .refused(_, let text) = self else { return false }
        let words = text.lowercased()
        return ["noncelimit", "nonce limit"].contains { words.contains($0) }
    }

    /// Whether the node refused a message because it is not subscribed to the pubsub topic.
    package var isNotSubscribed: Bool {
        if case .refused(400, let text) = self { text.contains("not subscribed") } else { false }
    }

    /// What a request is for.
    package enum Purpose {
        /// A server's message, for which an operator or another node may help: the server goes on trying.
        case publishing
        /// A judgement: the kit ends soon if the node's address is wrong.
        case judging
    }

    /// Whether the node failed, and not the request, so that it may succeed elsewhere or later.
    package func mayPass(for purpose: Purpose) -> Bool {
        switch self {
        case .unreachable, .noRelay(.starting), .noRelay(.unknown): true
        case .noRelay(.off), .unintelligible, .tooLarge: purpose == .publishing
        case .refused(let status, _):
            status >= 500 || purpose == .publishing && ([404, 408, 429].contains(status) || isQuotaExhausted || isNotSubscribed)
        }
    }

    package var description: String {
        switch self {
        case .unreachable(let reason): "the node cannot be reached: \(reason)"
        case .refused(500, ""): "the node responded with 500 and an empty body: it has no peers on this topic, most likely"
        case .refused(let status, ""): "the node responded with \(status) and an empty body"
        case .refused(let status, let text): "the node responded with \(status): \(text)"
        case .noRelay(let absence): "\(absence)"
        case .unintelligible(let reason): "the node's response cannot be read: \(reason)"
        case .tooLarge: "the node's response is too large"
        }
    }
}
