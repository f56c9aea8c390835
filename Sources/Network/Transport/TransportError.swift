import WakuREST

/// The reason why an envelope did not reach the network.
package enum TransportError: Error, Equatable, CustomStringConvertible {
    /// The node's status was not 200.
    case refused(status: Int, text: String)
    /// The node sent no usable response. It may still have sent the message.
    case unreachable(String)
    /// No node that could get the message has a peer, so none got it (WAKU_REST.md §1.2).
    case noPeers
    /// The RLN quota of every node is exhausted until its epoch ends (WAKU_REST.md §2.3).
    case quotaExhausted
    /// The envelope's timestamp is too far from now for any archive to keep it: seal the message again. Earlier attempts may have sent it.
    case outdated

    init(_ error: NodeError) {
        self =
            switch error {
            case _ where error.isQuotaExhausted: .quotaExhausted
            case .refused(let status, let text): .refused(status: status, text: text)
            case .unreachable, .noRelay, .unintelligible, .tooLarge: .unreachable("\(error)")
            }
    }

    /// Whether the network failed, and not the message, so that every other message would fail too.
    package var isPassing: Bool {
        switch self {
        case .refused(let status, let text): PublishAttempts.mayPass(.refused(status: status, text: text))
        case .unreachable, .noPeers, .quotaExhausted: true
        case .outdated: false
        }
    }

    package var description: String {
        switch self {
        case .refused(let status, let text): "\(NodeError.refused(status: status, text: text))"
        case .unreachable(let reason): reason
        case .noPeers: "no node has a peer"
        case .quotaExhausted: "the RLN quota is exhausted"
        case .outdated: "the envelope is too old to be archived"
        }
    }
}
