/// The options that all benchmarks share.
package struct Options: Sendable {
    /// The number of runs. The median counts.
    package var runCount: Int
    /// The number of messages of each kind and run.
    package var messageCount: Int
    /// The number of the floor's threads, and of the engine's workers.
    package var threadCount: Int
    /// The duration of the measurement of each figure in each run.
    package var duration: Duration
    /// The folder for the databases, which are removed afterwards. The disk must be a real one: otherwise a durable commit is free.
    package var directory: String
    package var progress = Progress()

    package init(runCount: Int, messageCount: Int, threadCount: Int, duration: Duration, directory: String) {
        self.runCount = runCount
        self.messageCount = messageCount
        self.threadCount = threadCount
        self.duration = duration
        self.directory = directory
    }
}

/// The request of a message, which determines the engine's work.
package enum MessageKind: String, Sendable, CaseIterable {
    /// A registration on the server's own topic, the first one of its key.
    case registration
    /// A symmetrically encrypted query on a query topic. The topic's key is in memory, except for the first queries.
    case query
    /// A query on another query topic each time. The topic's key is in the store, derived before.
    case storedQuery = "stored-query"
    /// A query on the server's own topic, encrypted to its key.
    case directQuery = "direct-query"
    /// A push request with one notification for one device.
    case push
}
