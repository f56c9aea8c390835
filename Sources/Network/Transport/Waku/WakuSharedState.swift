import Envelope
import Logging
import ServiceLifecycle
import Synchronization
import Tasks
import Wire

/// The state that a transport's links to its nodes share.
final class WakuSharedState: Sendable {
    let configuration: WakuTransport.Configuration
    let checkpoints: any CheckpointKeeper
    let clock: any Clock<Duration>
    let wallClock: WallClock
    let jitter: @Sendable () -> Double
    let logger: Logger
    let metrics: WakuMetrics
    let known = Mutex(SeenCache())
    let selector: Monitor<PublishNodeSelector>
    /// When the server received, by pubsub topic.
    let receptions: Mutex<[String: Reception]>
    /// The nodes' verdicts about holes, by pubsub topic and node.
    let holeChecks = Mutex<[String: [Int: HoleCheck]]>([:])
    /// The holes that operators are told of, by pubsub topic.
    let toldHoles = Mutex<[String: [Hole]]>([:])
    /// The time of rules that must not jump.
    let time: SteadyTime

    /// - Parameter nodes: The nodes' names.
    init(
        nodes: [String], configuration: WakuTransport.Configuration, checkpoints: any CheckpointKeeper, clock: any Clock<Duration>,
        wallClock: WallClock, jitter: @escaping @Sendable () -> Double, logger: Logger
    ) {
        metrics = WakuMetrics(nodes: nodes)
        selector = Monitor(PublishNodeSelector(count: nodes.count, limit: configuration.maximumPostsInFlight))
        receptions = Mutex(Dictionary(uniqueKeysWithValues: configuration.pubsubTopics.map { ($0, Reception()) }))
        time = SteadyTime(clock: clock, start: wallClock.now())
        self.configuration = configuration
        self.checkpoints = checkpoints
        self.clock = clock
        self.wallClock = wallClock
        self.jitter = jitter
        self.logger = logger
    }

    /// Waits between two actions, but never during an action: a GET is destructive, so its response must be read.
    ///
    /// - Returns: False if the transport is to stop.
    func pause(_ duration: Duration) async -> Bool {
        if duration > .zero { try? await cancelWhenGracefulShutdown { [clock] in try await clock.sleep(for: duration) } }
        return !Task.isCancelled && !Task.isShuttingDownGracefully
    }
}
