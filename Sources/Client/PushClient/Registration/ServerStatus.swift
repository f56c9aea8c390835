public import FoundationEssentials

/// How far a server is with a ``RegisteringClient``'s registration: whether it notifies the device by now.
public struct ServerStatus: Hashable, Sendable {
    /// A registration's phase. Later versions may add phases.
    public struct Phase: Hashable, Sendable {
        private let name: String
        /// Why the server rejected the registration, or nil in all other phases.
        public private(set) var rejection: RegistrationRejection?

        /// Confirmed as a whole by the server, at ``ServerStatus/confirmedAt``. The client renews it each week.
        public static let registered = Phase(name: "registered")
        /// The registration is to be sent, or its reply is awaited.
        public static let registering = Phase(name: "registering")
        /// The unregistration is to be sent, or its reply is awaited.
        public static let unregistering = Phase(name: "unregistering")
        /// Rejected by the server, which would reject the same again. Retries stop until the device changes, or
        /// ``RegisteringClient/register(_:with:)`` is called again. Nothing else stops them.
        public static func rejected(_ rejection: RegistrationRejection) -> Phase { Phase(name: "rejected", rejection: rejection) }
        /// Not used any more: retries go on.
        @available(*, deprecated, message: "Retries go on, so no status has this phase. See ServerStatus.error.")
        public static let gaveUp = Phase(name: "gave up")
    }

    /// The public key that identifies the server.
    public let server: PublicKey
    /// The registration's phase.
    public let phase: Phase
    /// The last version that the server confirmed, or nil.
    public let version: UInt64?
    /// When the last request was sent that the server confirmed, by this device's clock, or nil.
    public let confirmedAt: Date?
    /// The number of consecutive failures: missing replies, internal errors at the server, an unreachable node.
    public let failureCount: Int
    /// The newest failure since the client was created, or nil after a success.
    public internal(set) var error: PushClientError?
}

extension ServerStatus: CustomStringConvertible {
    /// The server's key with the phase and the error, for a log or a user.
    public var description: String { "\(server.compressedHex): \(phase)" + (error.map { " (\($0))" } ?? "") }
}

extension ServerStatus.Phase: CustomStringConvertible {
    /// The phase in words, with the server's reason if it rejected the registration.
    public var description: String { rejection.map { "\(name): \($0)" } ?? name }
}
