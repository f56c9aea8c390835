import Concurrency
import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store

/// Decides and writes: one task, one transaction for all that has gathered.
final class DecideStage: Sendable {
    /// Messages a transaction; past some hundreds the cost of a commit no longer shows, and the reply waits for the last of them.
    private static let batchCount = 500
    /// How often a message is tried again before it hears INTERNAL_ERROR: about 2 seconds (PROTOCOL.md §7 row 12).
    private static let maximumAttemptCount = 20
    private static let retryInterval = Duration.milliseconds(100)
    /// Marks have no deadline: they are tried until the store takes them.
    private static let markRetryInterval = Duration.seconds(1)

    enum Work: Sendable {
        case message(OpenedEnvelope, attemptCount: Int = 0)
        /// The reply to these rows is out.
        case published(ids: [Int64], PendingReply.Mark)
        /// The store could not take the message for too long, and there is nothing to answer.
        case refused(ids: [Int64])
    }

    private let decider: Decider
    private let directory: TopicDirectory
    private let store: PushStore
    private let storeHealth: StoreHealth
    private let intake: ConcurrencyLimiter
    private let metrics: EngineMetrics
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let onAcceptedPushes: @Sendable () -> Void
    private let queue: BatchQueue<Work>
    private let replies: ReplyStage

    /// - Parameter intake: left by messages as soon as their decision is written.
    init(
        decider: Decider, directory: TopicDirectory, store: PushStore, storeHealth: StoreHealth, intake: ConcurrencyLimiter,
        metrics: EngineMetrics, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger,
        onAcceptedPushes: @escaping @Sendable () -> Void,
        queue: BatchQueue<Work>, replies: ReplyStage
    ) {
        self.decider = decider
        self.directory = directory
        self.store = store
        self.storeHealth = storeHealth
        self.intake = intake
        self.metrics = metrics
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        self.onAcceptedPushes = onAcceptedPushes
        self.queue = queue
        self.replies = replies
    }

    /// Returns when the queue is finished.
    @concurrent
    func run() async {
        await withDiscardingTaskGroup { group in
            while let batch = await queue.next(maximumCount: Self.batchCount) {
                await commit(batch, retries: &group)
            }
            group.cancelAll()
        }
    }

    private func commit(_ batch: [Work], retries: inout DiscardingTaskGroup) async {
        let now = wallClock.now()
        let decider = self.decider
        do {
            let outcomes = try await store.commit { transaction in
                var replied: [Int64] = []
                var ended: [Int64] = []
                let outcomes = try batch.map { work -> Decider.Outcome? in
                    switch work {
                    case .message(let message, _): return try decider.decide(message, at: now, in: transaction)
                    case .published(let ids, .replied): replied += ids
                    case .published(let ids, .decided), .refused(let ids): ended += ids
                    }
                    return nil
                }
                try transaction.markReplied(replied)
                try transaction.settleSilently(ended, at: now)
                return outcomes
            }
            // An answered query writes nothing before its reply is out.
            if outcomes.contains(where: { $0?.ending != .queryAnswered }) { storeHealth.succeeded() }
            metrics.commits.increment()
            apply(outcomes, of: batch)
        } catch {
            storeHealth.failed()
            metrics.commitFailures.increment()
            logger.error("a transaction failed", metadata: ["messages": "\(batch.count)", "error": "\(error)"])
            if batch.count > 1 {
                // Whatever the cause was, each gets its own chance: one message must not hold up the others.
                for work in batch { await commit([work], retries: &retries) }
            } else {
                for work in batch { retry(work, in: &retries) }
            }
        }
    }

    /// Topics first, then the delivery, then the replies: a client may ask on its topic as soon as it has its answer.
    private func apply(_ outcomes: [Decider.Outcome?], of batch: [Work]) {
        var acceptedPushCount = 0
        for outcome in outcomes {
            guard let outcome else { continue }
            if let change = outcome.addedTopics { directory.add(registration: change.registration, topics: change.topics) }
            if let change = outcome.removedTopics { directory.remove(registration: change.registration, topics: change.topics) }
            acceptedPushCount += outcome.acceptedPushCount
            metrics.count(outcome.ending)
        }
        if acceptedPushCount > 0 {
            metrics.accepted.increment(by: acceptedPushCount)
            onAcceptedPushes()
        }
        for case let outcome? in outcomes {
            if let reply = outcome.reply { replies.send(reply) }
        }
        // Last: who waits until nothing is under way must not miss what follows.
        let publishedCount = batch.count { if case .published = $0 { true } else { false } }
        replies.room.release(publishedCount)
        intake.release(batch.count - publishedCount)
    }

    private func retry(_ work: Work, in group: inout DiscardingTaskGroup) {
        let clock = self.clock
        let queue = self.queue
        switch work {
        case .message(let message, let attemptCount) where attemptCount < Self.maximumAttemptCount:
            group.addTask {
                guard (try? await clock.sleep(for: Self.retryInterval)) != nil else { return }
                queue.send(.message(message, attemptCount: attemptCount + 1))
            }
        case .message(let message, _):
            metrics.count(.internalError)
            if let reply = decider.internalError(for: message) {
                replies.send(reply)
                intake.release()
            } else {
                queue.send(.refused(ids: [message.id] + message.segments))
            }
        case .published, .refused:
            group.addTask {
                guard (try? await clock.sleep(for: Self.markRetryInterval)) != nil else { return }
                queue.send(work)
            }
        }
    }
}
