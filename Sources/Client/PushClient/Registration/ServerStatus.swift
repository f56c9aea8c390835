/// The status of one server of a ``RegisteringClient``: whether the server notifies the device by now.
public struct ServerStatus: Hashable, Sendable {
    /// A registration's phase. Later versions may have further ones.
    public struct Phase: Hashable, Sendable {
        private let name: String
        /// The server's reason, or nil unless it rejected the registration.
        public private(set) var rejection: RegistrationRejection?

        /// The server has confirmed the whole registration.
        public static let registered = Phase(name: "registered")
        /// The registration is to be sent, or its reply is awaited.
        public static let registering = Phase(name: "registering")
        /// The unregistration is to be sent, or its reply is awaited.
        public static let unregistering = Phase(name: "unregistering")
        /// The server rejected the registration and would reject the same again. Retries stop until the device changes.
        public static func rejected(_ rejection: RegistrationRejection) -> Phase { Phase(name: "rejected", rejection: rejection) }
        /// The server failed so often that retries stop, until the device changes or ``RegisteringClient/register(_:with:)`` is called
        /// again.
        public static let gaveUp = Phase(name: "gave up")
    }

    /// The server's public key.
    public let server: PublicKey
    /// The registration's phase.
    public let phase: Phase
    /// The last version that the server confirmed, or nil.
    public let version: UInt64?
    /// The number of consecutive failures: no reply, an internal error of the server, an unreachable node.
    public let failureCount: Int
}

extension ServerStatus.Phase: CustomStringConvertible {
    /// The phase in words, with the server's reason if it rejected the registration.
    public var description: String { rejection.map { "\(name): \($0)" } ?? name }
}
