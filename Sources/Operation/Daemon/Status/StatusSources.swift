import Delivery
import StatusReport
import Store
import Transport

/// The parts of a server that a snapshot reads.
struct StatusSources: Sendable {
    /// The figures of the engine.
    struct Engine: Sendable {
        var messagesInFlight: Int
        var waitingReplies: Int
        var topicDirectoryEntries: Int
    }

    var readiness: @Sendable () -> ReadinessObservation
    var figures: @Sendable () async throws -> StoreFigures
    var engine: @Sendable () -> Engine
    var canary: @Sendable () -> StatusSnapshot.Canary?
    /// The reply times since the start.
    var replyTimes: @Sendable () -> ReplyTimes
    var nodes: @Sendable () -> [NodeReport]
    var routes: @Sendable () -> [RouteReport]
    var files: @Sendable () -> StatusSnapshot.Files
    /// The age of the newest automatic backup; nil if none exists.
    var backupAge: @Sendable () -> Duration?
    var sealing: @Sendable () async -> SealingProgress?
}
