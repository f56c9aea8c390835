public import FoundationEssentials

/// The reason why a client's operation failed. It never contains tokens, keys or messages.
///
/// A call whose task is cancelled throws `CancellationError` instead. Its request may have been sent.
public struct PushClientError: LocalizedError, Hashable, Sendable {
    /// The kind of error. Later versions may add kinds.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// The constant's name.
        public let description: String

        /// The node does not respond. The request's state is unknown.
        public static let nodeUnreachable = Code(description: "nodeUnreachable")
        /// The node responded with an error. Retry later if its ``PushClientError/status`` is 500 or more.
        public static let nodeRejected = Code(description: "nodeRejected")
        /// No reply arrived in time. The server may have performed the request nevertheless.
        public static let noReply = Code(description: "noReply")
        /// A registration or unregistration was rejected. See ``PushClientError/rejection``.
        public static let registrationRejected = Code(description: "registrationRejected")
        /// A server has a newer registration of this installation than the state: another device uses a copy of it, most likely from a
        /// backup. Give each device a ``ClientState/deviceMark``. Until this device changes, the client does not take the registration
        /// back.
        public static let stateCopied = Code(description: "stateCopied")
        /// The device, its lists or the installation id are not what servers accept. Nothing was sent.
        public static let invalidRegistration = Code(description: "invalidRegistration")
        /// The push lacks a message id, or is too long to arrive whole and must. Nothing was sent.
        public static let invalidPush = Code(description: "invalidPush")
        /// The request is longer than any node accepts. Nothing was sent.
        public static let requestTooLong = Code(description: "requestTooLong")
        /// The state cannot be read or written. Nothing was sent.
        public static let stateUnusable = Code(description: "stateUnusable")
    }

    /// What failed.
    public let code: Code
    /// The reason as the node, the state or this client words it, or empty if the code says everything.
    public private(set) var reason = ""
    /// The node's HTTP status, or a number with the same meaning, or nil unless the node rejected the request.
    public private(set) var status: Int?
    /// The time in which the server did not reply, or nil for other errors.
    public private(set) var timeout: Duration?
    /// By how much this device's clock is ahead of the node's, negative if it is behind, if no reply arrived and that may be why: stores
    /// keep messages whose time is wrong by at most 20 s. Nil for other errors.
    public private(set) var clockLead: Duration?
    /// Why the server rejected the registration or unregistration, or nil for other errors.
    public private(set) var rejection: RegistrationRejection?

    private init(_ code: Code, reason: String = "") {
        self.code = code
        self.reason = reason
    }
}

extension PushClientError {
    /// The error that a transport throws when its node does not respond.
    ///
    /// - Parameter reason: The reason without a full stop.
    public static func nodeUnreachable(reason: String) -> PushClientError { PushClientError(.nodeUnreachable, reason: reason) }

    /// The error that a transport throws when its node responded with an error.
    ///
    /// - Parameters:
    ///   - status: The HTTP status, or a number with the same meaning. The client publishes again after 500 and more, which is a failure
    ///     that passes within seconds.
    ///   - text: The node's text, perhaps empty.
    public static func nodeRejected(status: Int, text: String) -> PushClientError {
        var error = PushClientError(.nodeRejected, reason: text)
        error.status = status
        return error
    }

    /// The error that a state throws when it cannot be read or written.
    ///
    /// - Parameter reason: The reason without a full stop.
    public static func stateUnusable(reason: String) -> PushClientError { PushClientError(.stateUnusable, reason: reason) }

    /// - Parameter clockLead: By how much this device's clock is ahead of the node's.
    package static func noReply(after timeout: Duration, clockLead: Duration? = nil) -> PushClientError {
        var error = PushClientError(.noReply)
        error.timeout = timeout
        error.clockLead = clockLead.flatMap { Exchange.isWrong(clockLead: $0) ? $0 : nil }
        return error
    }

    package static func registrationRejected(_ rejection: RegistrationRejection) -> PushClientError {
        var error = PushClientError(.registrationRejected)
        error.rejection = rejection
        return error
    }

    package static var stateCopied: PushClientError {
        var error = PushClientError(.stateCopied)
        error.rejection = .versionMismatch
        return error
    }

    static func invalidRegistration(_ reason: String) -> PushClientError { PushClientError(.invalidRegistration, reason: reason) }

    static func invalidPush(_ reason: String) -> PushClientError { PushClientError(.invalidPush, reason: reason) }

    package static var requestTooLong: PushClientError { PushClientError(.requestTooLong) }
}

extension PushClientError: CustomStringConvertible {
    /// A sentence for a user.
    public var description: String {
        switch code {
        case .nodeUnreachable: "The node cannot be reached: \(reason)."
        // go-waku gives no reason if it cannot publish.
        case .nodeRejected where status == 500 && reason.isEmpty:
            "The node rejected the request with status 500 and no reason: it has no peers on this shard, most likely."
        case .nodeRejected: "The node rejected the request with status \(status ?? 0)" + (reason.isEmpty ? "." : ": \(reason)")
        case .noReply:
            "The server did not reply within \((timeout ?? .zero).formattedSeconds)." + (clockLead.map { " \($0.asClockLead)" } ?? "")
        case .registrationRejected: rejection?.description ?? "The server rejected the registration."
        case .stateCopied:
            """
            The server has a newer registration of this installation, which this state did not make: another device uses a copy of the \
            state, most likely from a backup. Give each device's state a deviceMark.
            """
        case .requestTooLong: "The request is too long to be sent."
        case .stateUnusable: "The state cannot be used: \(reason)."
        default: reason
        }
    }

    /// The sentence of ``description``, which `localizedDescription` returns.
    public var errorDescription: String? { description }
}

extension Duration {
    /// A sentence about a clock that is ahead by this duration.
    package var asClockLead: String {
        let (seconds, side) = (abs(components.seconds), self < .zero ? "behind" : "ahead of")
        return "This machine's clock is \(seconds) s \(side) the node's: set it."
    }

    /// The duration as `10 s` or `0.5 s`.
    var formattedSeconds: String {
        let (seconds, attoseconds) = components
        let milliseconds = attoseconds / 1_000_000_000_000_000
        guard milliseconds != 0 else { return "\(seconds) s" }
        return "\(Double(seconds) + Double(milliseconds) / 1_000) s"
    }
}
