import WakuREST

/// Why an envelope did not get onto the network.
package enum TransportError: Error, Equatable, CustomStringConvertible {
    /// The node answered with another status than 200.
    case refused(status: Int, text: String)
    /// No usable answer from the node; the message may have been sent all the same.
    case unreachable(String)
    /// As many messages as are kept wait to be published already. Nothing of this one was sent.
    case queueFull
    /// The envelope's timestamp is too far from now for any archive to keep it: seal the message anew. Earlier attempts may have sent it.
    case outdated

    init(_ error: NodeError) {
        self =
            switch error {
            case .refused(let status, let text): .refused(status: status, text: text)
            case .unreachable, .unintelligible, .tooLarge: .unreachable("\(error)")
            }
    }

    package var description: String {
        switch self {
        case .refused(let status, let text): "\(NodeError.refused(status: status, text: text))"
        case .unreachable(let reason): reason
        case .queueFull: "too many messages wait to be published"
        case .outdated: "the envelope is too old to be archived"
        }
    }
}
