import WakuREST

/// Why an envelope did not get onto the network.
package enum TransportError: Error, Equatable, CustomStringConvertible {
    /// The node answered with another status than 200.
    case refused(status: Int, text: String)
    /// No usable answer from the node; the message may have been sent all the same.
    case unreachable(String)
    /// Every node's quota of messages is used up, until an epoch ends (WAKU_REST.md §2.3).
    case quotaUsedUp
    /// The envelope's timestamp is too far from now for any archive to keep it: seal the message anew. Earlier attempts may have sent it.
    case outdated

    init(_ error: NodeError) {
        self =
            switch error {
            case _ where error.isQuotaUsedUp: .quotaUsedUp
            case .refused(let status, let text): .refused(status: status, text: text)
            case .unreachable, .unintelligible, .tooLarge: .unreachable("\(error)")
            }
    }

    /// Whether the reason is the network's and not the message's: then it concerns every other message as well.
    package var isPassing: Bool {
        switch self {
        case .refused(let status, let text): PublishAttempts.mayPass(.refused(status: status, text: text))
        case .unreachable, .quotaUsedUp: true
        case .outdated: false
        }
    }

    package var description: String {
        switch self {
        case .refused(let status, let text): "\(NodeError.refused(status: status, text: text))"
        case .unreachable(let reason): reason
        case .quotaUsedUp: "the quota of messages is used up (RLN)"
        case .outdated: "the envelope is too old to be archived"
        }
    }
}
