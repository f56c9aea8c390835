/// The status of one server of a ``RegisteringClient``.
public struct ServerStatus: Hashable, Sendable {
    /// The phase of a registration.
    public enum Phase: Hashable, Sendable {
        /// The server has confirmed the whole registration.
        case registered
        /// The registration is to be sent, or its reply is awaited.
        case registering
        /// The unregistration is to be sent, or its reply is awaited.
        case unregistering
        /// The server refused and would refuse the same again. Retries stop until the device changes.
        case refused(RegistrationRefusal)
        /// The server failed so often that retries stop, until the device changes or ``RegisteringClient/register(_:with:)`` is called
        /// again.
        case gaveUp
    }

    /// The server's public key.
    public let server: IdentityKey
    /// The phase of the registration.
    public let phase: Phase
    /// The last version that the server confirmed, or nil.
    public let version: UInt64?
    /// The number of consecutive failures: no reply, an internal error of the server, an unreachable node.
    public let failureCount: Int
}

/// An event of a ``RegisteringClient``.
public enum RegistrationEvent: Hashable, Sendable {
    /// The server confirmed the whole registration.
    case registered(server: IdentityKey, version: UInt64)
    /// The server unregistered the device.
    case unregistered(server: IdentityKey)
    /// The request failed; the next attempt follows after that time.
    case retrying(server: IdentityKey, reason: PushClientError, after: Duration)
    /// Retries with this server have stopped; its status gives the reason.
    case stopped(server: IdentityKey, reason: PushClientError)
    /// The number of servers advertised on the contact-code topic; 0 withdraws all earlier ones.
    case advertised(serverCount: Int)
    /// The node or the state file failed; the client retries.
    case troubled(PushClientError)
}
