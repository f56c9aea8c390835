import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store
import Wire

/// The writer: one task, one transaction for all that has gathered.
final class CommitStage: Sendable {
    /// Messages a transaction; past some hundreds the cost of a commit no longer shows, and the reply waits for the last of them.
    private static let batchCount = 500
    /// What the messages of a transaction may cost together: all others who write wait for as long.
    private static let maximumCost = Duration.milliseconds(100)
    /// How often a message is tried again before it hears INTERNAL_ERROR: about 2 seconds (PROTOCOL.md §7 row 12).
    private static let maximumAttemptCount = 20
    private static let retryInterval = Duration.milliseconds(100)
    /// Marks have no deadline: they are tried until the store takes them.
    private static let markRetryInterval = Duration.seconds(1)

    enum Work: Sendable {
        case message(OpenedEnvelope, attemptCount: Int = 0)
        /// The reply to these rows is out.
        case published(ids: [Int64], PendingReply.Mark)
        /// INTERNAL_ERROR was answered: the message must not take effect any more, also not after a restart.
        case refused(ids: [Int64])
    }

    private let decider: Decider
    private let directory: TopicDirectory
    private let store: any PushStore
    private let storeHealth: StoreHealth
    private let admission: Admission
    private let metrics: EngineMetrics
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    private let onAcceptedPushes: @Sendable () -> Void
    private let queue: WorkQueue<Work>
    private let output: WorkQueue<ReplyStage.Item>

    init(
        decider: Decider, directory: TopicDirectory, store: any PushStore, storeHealth: StoreHealth, admission: Admission,
        metrics: EngineMetrics, clock: any Clock<Duration>, wallClock: WallClock, logger: Logger,
        onAcceptedPushes: @escaping @Sendable () -> Void,
        queue: WorkQueue<Work>, output: WorkQueue<ReplyStage.Item>
    ) {
        self.decider = decider
        self.directory = directory
        self.store = store
        self.storeHealth = storeHealth
        self.admission = admission
        self.metrics = metrics
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        self.onAcceptedPushes = onAcceptedPushes
        self.queue = queue
        self.output = output
    }

    /// Returns when the queue is finished.
    @concurrent
    func run() async {
        await withDiscardingTaskGroup { group in
            while let work = await queue.next(maximumCount: Self.batchCount) {
                for batch in Self.batches(of: work) { await commit(batch, retries: &group) }
            }
            group.cancelAll()
        }
    }

    /// Cuts work into what one transaction may cost; a message that alone costs more is alone.
    static func batches(of work: [Work]) -> [ArraySlice<Work>] {
        var batches: [ArraySlice<Work>] = []
        var start = 0
        var cost = Duration.zero
        for (index, piece) in work.enumerated() {
            cost += piece.cost
            guard cost > maximumCost, index > start else { continue }
            batches.append(work[start..<index])
            start = index
            cost = piece.cost
        }
        return batches + [work[start...]]
    }

    private func commit(_ batch: ArraySlice<Work>, retries: inout DiscardingTaskGroup) async {
        let now = wallClock.now()
        let committed = await store.commit(Array(batch), at: now) { [decider] work in
            decider.questions(about: work.lazy.compactMap(\.message))
        } deciding: { [decider] work, batch -> Decider.Outcome? in
            switch work {
            case .message(let message, _): return decider.decide(message, at: now, in: &batch)
            case .published(let ids, .replied): batch.markReplied(ids)
            case .published(let ids, .decided), .refused(let ids): for id in ids { batch.settle(id, as: .silent) }
            case .published(_, .nothing): break  // ends with the reply
            }
            return nil
        }
        var outcomes: [Decider.Outcome?] = []
        var failures: [any Error] = []
        for (work, outcome) in zip(batch, committed.outcomes) {
            do {
                outcomes.append(try outcome.get())
            } catch {
                failures.append(error)
                retry(work, in: &retries)
            }
        }
        if let error = failures.first {
            storeHealth.failed()
            metrics.commitFailures.increment()
            logger.error("what was decided could not be written", metadata: ["messages": "\(failures.count)", "error": "\(error)"])
        } else if outcomes.contains(where: { $0?.ending != .queryAnswered }) {
            // An answered query writes nothing before its reply is out.
            storeHealth.succeeded()
        }
        if !outcomes.isEmpty { metrics.commits.increment() }
        apply(outcomes, committed.topicChanges)
    }

    /// Topics first, then the delivery, then the replies: a client may ask on its topic as soon as it has its answer.
    private func apply(_ outcomes: [Decider.Outcome?], _ topicChanges: [TopicChange]) {
        for change in topicChanges {
            switch change {
            case .added(let registration): directory.add([registration])
            case .removed(let registration): directory.remove(registration: registration.registration, topics: registration.topics)
            }
        }
        var acceptedPushCount = 0
        for case let outcome? in outcomes {
            acceptedPushCount += outcome.acceptedPushCount
            metrics.count(outcome.ending)
        }
        if acceptedPushCount > 0 {
            metrics.accepted.increment(by: acceptedPushCount)
            onAcceptedPushes()
        }
        for outcome in outcomes {
            if let reply = outcome?.reply { output.send(ReplyStage.Item(reply)) } else { admission.leave() }
        }
    }

    private func retry(_ work: Work, in group: inout DiscardingTaskGroup) {
        let clock = self.clock
        let queue = self.queue
        switch work {
        case .message(let message, let attemptCount) where attemptCount < Self.maximumAttemptCount:
            group.addTask {
                try? await clock.sleep(for: Self.retryInterval)
                queue.send(.message(message, attemptCount: attemptCount + 1))
            }
        case .message(let message, _):
            metrics.count(.internalError)
            if let reply = decider.internalError(for: message) {
                admission.enterAtOnce(1)
                output.send(ReplyStage.Item(reply))
            }
            queue.send(.refused(ids: [message.id] + message.segments))
        case .published, .refused:
            group.addTask {
                try? await clock.sleep(for: Self.markRetryInterval)
                queue.send(work)
            }
        }
    }
}

extension CommitStage.Work {
    fileprivate var message: OpenedEnvelope? {
        if case .message(let message, _) = self { message } else { nil }
    }

    /// Of the writer's time, roughly, as measured on a slow core: what is looked up and what is written.
    fileprivate var cost: Duration {
        .microseconds(50) + .microseconds(75) * entryCount
    }

    /// Devices that are pushed to, keys that are asked for, hundreds of entries of lists.
    private var entryCount: Int {
        guard case .message(let body, _) = message?.content else { return 0 }
        switch body {
        case .push(let request): return request.requests.count
        case .query(let keyHashes): return keyHashes.count
        case .registration(let registration):
            guard case .message(let content) = registration.facts.content else { return 0 }
            return 1 + content.lists.reduce(0) { $0 + $1.count } / 100
        }
    }
}
