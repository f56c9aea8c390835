package import WakuREST

/// The reason why an envelope did not reach the network.
package enum TransportError: Error, Equatable, CustomStringConvertible {
    /// The node did not accept the envelope. It may still have sent it.
    case node(NodeError)
    /// No node that could get the message has a peer, so none got it (WAKU_REST.md §1.2).
    case noPeers
    /// A node accepted the envelope and turned out to have no peers. It drops the same bytes as seen, so seal the message again.
    case lost
    /// The envelope's timestamp is too far from now for any archive to keep it: seal the message again. Earlier attempts may have sent it.
    case outdated

    /// Whether the network failed, and not the message, so that every other message would fail too.
    package var isPassing: Bool {
        switch self {
        case .node(let error): error.mayPass(for: .publishing)
        case .noPeers, .lost: true
        case .outdated: false
        }
    }

    package var description: String {
        switch self {
        case .node(let error): "\(error)"
        case .noPeers: "no node has a peer"
        case .lost: "the node that accepted the envelope has no peer"
        case .outdated: "the envelope is too old to be archived"
        }
    }
}
