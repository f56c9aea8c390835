import ArgumentParser
import PushClient

/// Why a command ends without being done, in words that say what to try next.
struct Failure: Error {
    let message: String
    let exitCode: ExitCode

    /// The server said no, or nothing.
    static func failed(_ message: String) -> Failure { Failure(message: message, exitCode: .failure) }
    /// The command line is wrong: EX_USAGE.
    static func usage(_ message: String) -> Failure { Failure(message: message, exitCode: ExitCode(64)) }
    /// The node cannot be used: EX_UNAVAILABLE.
    static func unavailable(_ message: String) -> Failure { Failure(message: message, exitCode: ExitCode(69)) }
    /// The environment or a file is wrong: EX_CONFIG.
    static func configuration(_ message: String) -> Failure { Failure(message: message, exitCode: ExitCode(78)) }
}

extension Failure {
    /// Why a node does not take a message, the likeliest first.
    static let unpublished = """
        Has the node peers on this shard? A node on its own, or just started, has none: try again in a minute. Is it subscribed to the \
        shard (--shard, go-waku: --pubsub-topic), and does it take messages of this size (nwaku: --max-msg-size=1024KiB)?
        """

    /// - Parameter silence: what it may mean if the server does not answer.
    init(_ error: PushClientError, node: NodeAccess, silence: String) {
        self =
            switch error {
            case .nodeUnreachable:
                .unavailable("\(error.description) Is a node running at \(node.url)? Choose another with --node or PUSHCTL_NODE.")
            // No store at the node, or none that it knows of (WAKU_REST.md §1.5).
            case .nodeRefused(let status, _) where node.reception == .store && [404, 412].contains(status):
                .unavailable(
                    """
                    \(error.description)
                    Is \(node.url) a node's REST API? Answers are looked for in its store; if it has none and serves nobody else, try \
                    --own-node.
                    """)
            // Said to a message; go-waku says no more than that (WAKU_REST.md §1.2).
            case .nodeRefused(500, _): .unavailable("\(error.description)\n\(Self.unpublished)")
            case .nodeRefused: .unavailable(error.description)
            case .noAnswer: .failed("\(error.description) \(silence)")
            case .stateUnusable: .configuration(error.description)
            case .registrationRefused, .requestTooLong, .cancelled: .failed(error.description)
            }
    }
}
