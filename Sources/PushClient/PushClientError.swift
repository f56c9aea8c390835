public import FoundationEssentials

/// The reason why an operation of a client failed. No case contains a token, a key or a message.
///
/// A call whose task is cancelled throws `CancellationError` instead. Its request may have been sent.
public enum PushClientError: Error, Hashable, Sendable {
    /// The node does not respond. The state of the request is unknown.
    case nodeUnreachable(reason: String)
    /// The node responded with an error.
    case nodeRefused(status: Int, text: String)
    /// The server did not reply within the time. Servers also do not reply to queries for unknown keys.
    case noAnswer(after: Duration)
    /// The server refused to register or unregister.
    case registrationRefused(RegistrationRefusal)
    /// The request is longer than any node accepts.
    case requestTooLong
    /// The state file cannot be used; nothing was sent.
    case stateUnusable(reason: String)
}

extension PushClientError: LocalizedError, CustomStringConvertible {
    /// The sentence of ``description``, which `localizedDescription` returns.
    public var errorDescription: String? { description }

    /// A sentence for a user.
    public var description: String {
        switch self {
        case .nodeUnreachable(let reason): "The node cannot be reached: \(reason)."
        // go-waku gives no reason if it cannot publish.
        case .nodeRefused(500, ""): "The node refused with status 500 and no reason: it has no peers on this shard, most likely."
        case .nodeRefused(let status, ""): "The node refused with status \(status)."
        case .nodeRefused(let status, let text): "The node refused with status \(status): \(text)"
        case .noAnswer(let time): "The server did not answer within \(time.formattedSeconds)."
        case .registrationRefused(let refusal): refusal.description
        case .requestTooLong: "The request is too long to be sent."
        case .stateUnusable(let reason): "The state file cannot be used: \(reason)."
        }
    }
}

extension Duration {
    /// The duration as `10 s` or `0.5 s`.
    fileprivate var formattedSeconds: String {
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0 else { return "\(seconds) s" }
        return "\(Double(seconds) + Double(milliseconds) / 1_000) s"
    }
}
