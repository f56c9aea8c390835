package import PushClient
import PushClientREST

/// The reason why a command failed, with a text that suggests the next step.
package struct Failure: Error {
    /// A failure's class, which decides the exit code. `error.code` in JSON.
    package enum Kind: String, Sendable {
        /// Refused by the server, or without a response.
        case failed
        /// The command line is wrong.
        case usage
        /// A needed service cannot be reached.
        case unavailable
        /// The environment, a file or a setting is wrong.
        case configuration
        /// Another command holds a lock, which passes.
        case temporary
    }

    /// The reason in a word, for scripts. `error.reason` in JSON.
    package struct Reason: Sendable {
        package let name: String

        package static let unknownOwner = Reason(name: "unknownOwner")
        package static let unknownDevice = Reason(name: "unknownDevice")
        package static let tokenHidden = Reason(name: "tokenHidden")
        package static let notAccepted = Reason(name: "notAccepted")
        package static let rejected = Reason(name: "rejected")

        /// Returns the reason for a client error: its code.
        package init(_ code: PushClientError.Code) {
            self = code == .registrationRejected ? .rejected : Reason(name: code.description)
        }

        private init(name: String) { self.name = name }
    }

    package var message: String
    package let kind: Kind
    /// The reason, if there is more to say than the kind does.
    package var reason: Reason?
    /// The protocol's word for a rejection.
    package var rejection: String?
    /// Which server failed, if a command uses several.
    package var server: PublicKey?

    package static func failed(_ message: String, _ reason: Reason? = nil) -> Failure {
        Failure(message: message, kind: .failed, reason: reason)
    }
    package static func usage(_ message: String) -> Failure { Failure(message: message, kind: .usage) }
    package static func unavailable(_ message: String) -> Failure { Failure(message: message, kind: .unavailable) }
    package static func configuration(_ message: String) -> Failure { Failure(message: message, kind: .configuration) }
    package static func temporary(_ message: String) -> Failure { Failure(message: message, kind: .temporary) }
}

extension Failure {
    /// The reasons why a node rejects a message, the likeliest first.
    package static let unpublished = """
        Does the node have peers on this shard? A single node, or one just started, has none: try again in a minute. Is it subscribed to \
        the shard (--shard, go-waku: --pubsub-topic), and does it accept messages of this size (nwaku: --max-msg-size=1024KiB)?
        """

    /// The next step at a node that does not respond from a store.
    static let withoutStore = """
        Does it have a store of version 3 (nwaku: --store=true)? pushctl reads replies from the node's store. If the node has none, like \
        go-waku, and no other reader, add --own-node: pushctl then reads its relay cache.
        """

    /// Creates the failure for a client error.
    ///
    /// - Parameter silence: What a missing reply means.
    package init(_ error: any Error, node: NodeAccess, silence: String) {
        guard let error = error as? PushClientError else {
            self = .failed(error is CancellationError ? "The command was cancelled." : "\(error)")
            return
        }
        self =
            switch error.code {
            case .nodeUnreachable:
                .unavailable("\(error.description) Is a node running at \(node.publicURL)? Choose another with --node or PUSHCTL_NODE.")
            // The node doesn't have a store and doesn't know another node's (WAKU_REST.md §1.5). go-waku: 500 "no suitable peers found".
            case .nodeRejected
            where node.reception == .store
                && ([404, 412].contains(error.status) || error.status == 500 && error.reason.contains("no suitable")):
                .unavailable(
                    """
                    \(error.description)
                    Is \(node.publicURL) a node's REST API? \(Self.withoutStore)
                    """)
            // The node rejected a message. go-waku gives no other reason (WAKU_REST.md §1.2).
            case .nodeRejected where error.status == 500: .unavailable("\(error.description)\n\(Self.unpublished)")
            case .nodeRejected: .unavailable(error.description)
            case .noReply: .failed("\(error.description) \(silence)")
            case .stateUnusable: .configuration(error.description)
            default: .failed(error.description)
            }
        reason = Reason(error.code)
        rejection = error.rejection?.word
    }
}

extension RegistrationRejection {
    /// The protocol's word.
    package var word: String {
        switch self {
        case .malformedMessage: "MALFORMED_MESSAGE"
        case .versionMismatch: "VERSION_MISMATCH"
        case .unsupportedTokenType: "UNSUPPORTED_TOKEN_TYPE"
        case .internalError: "INTERNAL_ERROR"
        default: "error \(rawValue)"
        }
    }
}
