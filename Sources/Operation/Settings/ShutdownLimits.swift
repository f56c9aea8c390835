/// How long a server's parts have to stop after SIGTERM.
package struct ShutdownLimits: Sendable {
    /// The limit for all parts: then the server cancels work in flight and records attempts at gorush as uncertain.
    package var gracePeriod: Duration

    package init(gracePeriod: Duration) { self.gracePeriod = gracePeriod }

    /// With ``writing`` this makes 30 s, after which Kubernetes kills a process.
    package static let defaultGracePeriod = Duration.seconds(25)

    /// The time for recording cancelled work and closing the database. Each wait for another process's lock takes up to 2 s.
    package static let writing = Duration.seconds(5)

    /// The time for responses that the transport awaits from a node.
    package var transport: Duration { gracePeriod / 5 }
    /// The time for the engine's messages in flight. The other half is for the delivery.
    package var engine: Duration { gracePeriod * 2 / 5 }
    /// The time after which the process exits even if a service hangs.
    package var process: Duration { gracePeriod + Self.writing }
}
