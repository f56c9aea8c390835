package import Delivery
package import Transport

/// A server's parts that a snapshot reads.
package struct StatusSources: Sendable {
    /// The engine's figures.
    package struct Engine: Sendable {
        package var messagesInFlight: Int
        package var waitingReplies: Int
        package var topicDirectoryEntries: Int

        package init(messagesInFlight: Int, waitingReplies: Int, topicDirectoryEntries: Int) {
            self.messagesInFlight = messagesInFlight
            self.waitingReplies = waitingReplies
            self.topicDirectoryEntries = topicDirectoryEntries
        }
    }

    package var readiness: @Sendable () -> ReadinessObservation
    /// The newest reading of the store and its age.
    package var store: @Sendable () -> (reading: StoreReading, age: Duration)
    package var engine: @Sendable () -> Engine
    package var canary: @Sendable () -> StatusSnapshot.Canary?
    /// The reply times since the start.
    package var replyTimes: @Sendable () -> ReplyTimes
    package var nodes: @Sendable () -> [NodeReport]
    package var routes: @Sendable () -> [RouteReport]
    package var files: @Sendable () -> StatusSnapshot.Files
    /// The newest automatic backup's age, or nil if none exists.
    package var backupAge: @Sendable () -> Duration?
    /// Returns a condition with advice for this server's operator.
    package var finding: @Sendable (Condition) -> StatusSnapshot.Finding

    package init(
        readiness: @escaping @Sendable () -> ReadinessObservation,
        store: @escaping @Sendable () -> (reading: StoreReading, age: Duration),
        engine: @escaping @Sendable () -> Engine,
        canary: @escaping @Sendable () -> StatusSnapshot.Canary?,
        replyTimes: @escaping @Sendable () -> ReplyTimes,
        nodes: @escaping @Sendable () -> [NodeReport],
        routes: @escaping @Sendable () -> [RouteReport],
        files: @escaping @Sendable () -> StatusSnapshot.Files,
        backupAge: @escaping @Sendable () -> Duration?,
        finding: @escaping @Sendable (Condition) -> StatusSnapshot.Finding
    ) {
        self.finding = finding
        self.readiness = readiness
        self.store = store
        self.engine = engine
        self.canary = canary
        self.replyTimes = replyTimes
        self.nodes = nodes
        self.routes = routes
        self.files = files
        self.backupAge = backupAge
    }
}
