package import Delivery
import Store
package import Transport

/// A server's parts that a snapshot reads. Without a source, the snapshot shows a server without that part.
package struct StatusSources: Sendable {
    /// The engine's figures.
    package struct Engine: Sendable {
        package var messagesInFlight = 0
        package var waitingReplies = 0
        package var topicDirectoryEntries = 0

        package init() {}
    }

    package var readiness: @Sendable () -> ReadinessObservation = { ReadinessObservation() }
    /// The newest reading of the store and its age.
    package var store: @Sendable () -> (reading: StoreReading, age: Duration) = { (StoreReading(figures: StoreFigures()), .zero) }
    package var engine: @Sendable () -> Engine = { Engine() }
    package var canary: @Sendable () -> StatusSnapshot.Canary? = { nil }
    /// The reply times since the start.
    package var replyTimes: @Sendable () -> ReplyTimes = { ReplyTimes() }
    package var nodes: @Sendable () -> [NodeReport] = { [] }
    package var routes: @Sendable () -> [RouteReport] = { [] }
    package var files: @Sendable () -> StatusSnapshot.Files = { .init() }
    /// The newest automatic backup's age, or nil if none exists.
    package var backupAge: @Sendable () -> Duration? = { nil }
    /// Returns a condition with advice for this server's operator.
    package let finding: @Sendable (Condition) -> StatusSnapshot.Finding

    package init(finding: @escaping @Sendable (Condition) -> StatusSnapshot.Finding) { self.finding = finding }
}
