/// What all benchmarks share.
package struct Options: Sendable {
    /// How many runs there are, of which the median is taken.
    package var runCount: Int
    /// Messages of each kind and run.
    package var messageCount: Int
    /// Threads of the floor, and workers of the engine.
    package var threadCount: Int
    /// How long each figure is measured in each run.
    package var duration: Duration
    /// Where databases are made, and removed again: a real disk, or a durable commit costs nothing.
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

/// What a message asks for; the engine's work differs by it.
package enum MessageKind: String, Sendable, CaseIterable {
    /// The first of its key, on the server's own topic.
    case registration
    /// On a query topic whose key is in memory, but for the first ones: encrypted symmetrically.
    case query
    /// Each on another query topic, whose key was derived before and is in the store.
    case storedQuery = "stored-query"
    /// On the server's own topic: encrypted to its key.
    case directQuery = "direct-query"
    /// One notification for one device.
    case push
}
