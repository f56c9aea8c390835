/// How it stands with one server of a ``RegisteringClient``.
public struct ServerStatus: Hashable, Sendable {
    /// What the client knows and does.
    public enum Phase: Hashable, Sendable {
        /// The server confirmed all that it is to know.
        case registered
        /// The server is to be told, or its answer is waited for.
        case registering
        /// The server is to forget the device.
        case unregistering
        /// The server refused, and would refuse the same again: nothing more is tried until the device changes.
        case refused(RegistrationRefusal)
        /// The server did not answer so often that no more is tried, until the device changes or
        /// ``RegisteringClient/register(_:with:)`` is called again.
        case gaveUp
    }

    /// The server's public key.
    public let server: IdentityKey
    /// What the client knows and does.
    public let phase: Phase
    /// The version that the server confirmed last; nil if it never did.
    public let version: UInt64?
    /// How often in a row it failed: no answer, an error of the server's, a node that could not be reached.
    public let failureCount: Int
}

/// What a ``RegisteringClient`` does and finds out.
public enum RegistrationEvent: Hashable, Sendable {
    /// The server confirmed all that it is to know.
    case registered(server: IdentityKey, version: UInt64)
    /// The server forgot the device.
    case unregistered(server: IdentityKey)
    /// It failed, and is tried again after that time.
    case retrying(server: IdentityKey, reason: PushClientError, after: Duration)
    /// Nothing more is tried with this server; its status says why.
    case stopped(server: IdentityKey, reason: PushClientError)
    /// The servers were advertised on the contact-code topic: so many; 0: that there is none any more.
    case advertised(serverCount: Int)
    /// Something is wrong with the node or the state file; it is tried again.
    case troubled(PushClientError)
}
