import PushClient
import PushClientREST

/// The reason why a command failed, with a text that suggests the next step.
package struct Failure: Error {
    /// The class of a failure, which decides the exit code; `error.code` in JSON.
    package enum Kind: String, Sendable {
        /// The server refused or did not respond.
        case failed
        /// The command line is wrong.
        case usage
        /// A needed service cannot be reached.
        case unavailable
        /// The environment, a file or a setting is wrong.
        case configuration
    }

    package let message: String
    package let kind: Kind

    package init(message: String, kind: Kind) {
        self.message = message
        self.kind = kind
    }

    package static func failed(_ message: String) -> Failure { Failure(message: message, kind: .failed) }
    package static func usage(_ message: String) -> Failure { Failure(message: message, kind: .usage) }
    package static func unavailable(_ message: String) -> Failure { Failure(message: message, kind: .unavailable) }
    package static func configuration(_ message: String) -> Failure { Failure(message: message, kind: .configuration) }
}

extension Failure {
    /// The reasons why a node rejects a message, the likeliest first.
    package static let unpublished = """
        Does the node have peers on this shard? A single node, or one just started, has none: try again in a minute. Is it subscribed to \
        the shard (--shard, go-waku: --pubsub-topic), and does it accept messages of this size (nwaku: --max-msg-size=1024KiB)?
        """

    /// Creates the failure for an error of the client.
    ///
    /// - Parameter silence: The meaning of a missing reply.
    package init(_ error: any Error, node: NodeAccess, silence: String) {
        guard let error = error as? PushClientError else {
            self = .failed(error is CancellationError ? "The command was cancelled." : "\(error)")
            return
        }
        self =
            switch error.code {
            case .nodeUnreachable:
                .unavailable("\(error.description) Is a node running at \(node.url)? Choose another with --node or PUSHCTL_NODE.")
            // The node has no store and knows no other one (WAKU_REST.md §1.5); go-waku: 500 "no suitable peers found".
            case .nodeRejected
            where node.reception == .store
                && ([404, 412].contains(error.status) || error.status == 500 && error.reason.contains("no suitable")):
                .unavailable(
                    """
                    \(error.description)
                    Is \(node.url) a node's REST API, with a store of version 3 (--store=true)? pushctl reads replies from the node's \
                    store. If the node has no store and no other reader, add --own-node: pushctl then reads its relay cache.
                    """)
            // The node rejected a message. go-waku gives no other reason (WAKU_REST.md §1.2).
            case .nodeRejected where error.status == 500: .unavailable("\(error.description)\n\(Self.unpublished)")
            case .nodeRejected: .unavailable(error.description)
            case .noReply: .failed("\(error.description) \(silence)")
            case .stateUnusable: .configuration(error.description)
            default: .failed(error.description)
            }
    }
}
