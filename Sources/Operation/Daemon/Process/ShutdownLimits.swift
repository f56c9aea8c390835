/// The times that the parts of a server have to stop after SIGTERM.
struct ShutdownLimits: Sendable {
    /// The limit for all parts: then the server cancels work in flight and records attempts at gorush as uncertain.
    var gracePeriod: Duration

    /// With ``writing`` this makes 30 s, after which Kubernetes kills a process.
    static let defaultGracePeriod = Duration.seconds(25)

    /// The time for recording cancelled work and closing the database; each wait for another process's lock takes up to 2 s.
    static let writing = Duration.seconds(5)

    /// The time for responses that the transport awaits from a node.
    var transport: Duration { gracePeriod / 5 }
    /// The time for the engine's messages in flight. The other half is for the delivery.
    var engine: Duration { gracePeriod * 2 / 5 }
    /// The time after which the process exits even if a service hangs.
    var process: Duration { gracePeriod + Self.writing }
}
