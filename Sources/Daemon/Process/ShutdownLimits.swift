/// How long the parts of a server may take to end after SIGTERM.
struct ShutdownLimits: Sendable {
    /// For all of them: then what is under way is given up, and pushes at gorush are written as uncertain.
    var gracePeriod: Duration

    /// 25 s and ``writing`` make 30 s, after which Kubernetes kills a process.
    static let defaultGracePeriod = Duration.seconds(25)

    /// For writing down what was given up, and for closing the database; another process that has it locked is waited for 2 s a time.
    static let writing = Duration.seconds(5)

    /// For the answers that a node owes the transport.
    var transport: Duration { gracePeriod / 5 }
    /// For the messages that are under way after that. Half of what is left is the delivery's.
    var engine: Duration { gracePeriod * 2 / 5 }
    /// For the process, whatever hangs.
    var process: Duration { gracePeriod + Self.writing }
}
