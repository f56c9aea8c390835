/// Why a node did not do what it was asked.
package enum NodeError: Error, Equatable, CustomStringConvertible {
    /// No usable answer; what was asked may have been done all the same.
    case unreachable(String)
    /// Another status than 200. go-waku answers 500 with an empty text if it cannot publish, as a rule because it has no peers
    /// (WAKU_REST.md §1.2).
    case refused(status: Int, text: String)
    /// Status 200, with something that is no answer to the question.
    case unintelligible(String)
    /// The answer is longer than we read. What a GET has taken is lost to us, and in the node's store.
    case tooLarge

    /// Whether the node's RLN membership has no more messages in this epoch (WAKU_REST.md §1.2).
    package var isQuotaUsedUp: Bool {
        guard case .refused(_, let text) = self else { return false }
        let words = text.lowercased()
        return ["noncelimit", "nonce limit"].contains { words.contains($0) }
    }

    package var description: String {
        switch self {
        case .unreachable(let reason): "the node cannot be reached: \(reason)"
        case .refused(500, ""): "the node answered 500 with an empty body: it has no peers on this topic, most likely"
        case .refused(let status, ""): "the node answered \(status) with an empty body"
        case .refused(let status, let text): "the node answered \(status): \(text)"
        case .unintelligible(let reason): "the node's answer cannot be read: \(reason)"
        case .tooLarge: "the node's answer is too large"
        }
    }
}
