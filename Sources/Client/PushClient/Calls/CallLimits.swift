/// How long clients wait for the app's own node and storage.
///
/// A call that takes longer is *abandoned*: its task is cancelled, the client goes on without its result, and a late result changes
/// nothing. While four abandoned calls to a node have yet to return, further calls to it fail immediately. For a state, this happens after
/// four abandoned reads, or a single abandoned save.
public struct CallLimits: Hashable, Sendable {
    /// The time for ``NodeTransport/subscribe(to:on:)``.
    public var subscribing = Duration.seconds(10)
    /// The time for ``NodeTransport/history(of:on:since:)``.
    public var history = Duration.seconds(20)
    /// The time for all attempts to publish a request. An abandoned request may have been sent, so the client still listens for the reply.
    public var publishing = Duration.seconds(30)
    /// The time for each call to a ``ClientState``.
    public var state = Duration.seconds(10)

    /// Creates the default limits.
    public init() {}
}
