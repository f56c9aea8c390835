/// Why an envelope did not get onto the network.
package enum TransportError: Error, Equatable, CustomStringConvertible {
    /// The server's own transport is not running (yet, or any more).
    case notRunning
    /// No usable answer from the node; the message may have been sent all the same.
    case unreachable(String)
    /// The node answered with another status than 200.
    case refused(status: Int, text: String)
    /// The node answered 200 with something that is no answer to the question.
    case unintelligible(String)
    /// The node's answer is longer than we read. What a GET has taken is lost to us, and in the node's store.
    case tooLarge
    /// As many messages as are kept wait to be published already. Nothing of this one was sent.
    case queueFull
    /// The envelope's timestamp is too far from now for any archive to keep it: seal the message anew. Earlier attempts may have sent it.
    case outdated

    package var description: String {
        switch self {
        case .notRunning: "the server is not receiving"
        case .unreachable(let reason): "the node cannot be reached: \(reason)"
        case .refused(let status, let text): "the node answered \(status): \(text)"
        case .unintelligible(let reason): "the node's answer cannot be read: \(reason)"
        case .tooLarge: "the node's answer is too large"
        case .queueFull: "too many messages wait to be published"
        case .outdated: "the envelope is too old to be archived"
        }
    }
}
