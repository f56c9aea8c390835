import Concurrency
import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store
import Synchronization
import Wire

/// The writer: one task, one transaction for all that has gathered.
final class CommitStage: Sendable {
    /// Messages a transaction; past some hundreds the cost of a commit no longer shows, and the reply waits for the last of them.
    private static let batchCount = 500
    /// What the messages of a transaction may cost together: all others who write wait for as long.
    private static let maximumCost = Duration.milliseconds(100)
    /// How long a message is tried again before it hears INTERNAL_ERROR (PROTOCOL.md §7 row 12), however long each attempt takes.
    private static let patience = Duration.seconds(2)
    private static let retryInterval = Duration.milliseconds(100)
    /// Marks have no deadline: they are tried until the store takes them.
    private static let markRetryInterval = Duration.seconds(1)

    /// Indirect: it is handed on several times, and a message has many parts.
    indirect enum Work: Sendable {
        /// - Parameter since: when it was first tried; nil: never.
        case message(OpenedEnvelope, since: Duration? = nil)
        /// The reply to these rows is out.
        case published(ids: [Int64], PendingReply.Mark)
        /// The store could not take the message for too long, and there is nothing to answer.
        case refused(ids: [Int64])
        /// The store could not take a registration for too long, and its answer is said instead of older ones, which are not.
        case superseding(PendingReply, isSaid: Bool = false)
    }

    private let decider: Decider
    private let directory: TopicDirectory
    private let store: any PushStore
    private let storeHealth: StoreHealth
    private let intake: Intake
    private let metrics: EngineMetrics
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let time: SteadyTime
    private let logger: Logger
    private let onAcceptedPushes: @Sendable () -> Void
    private let queue: BatchQueue<Work>
    private let replies: ReplyStage
    /// What was decided and is durable has been taken from it.
    private let allowances = Mutex(Allowances())

    /// - Parameter intake: left by messages as soon as their decision is written.
    init(
        decider: Decider, directory: TopicDirectory, store: any PushStore, storeHealth: StoreHealth, intake: Intake,
        metrics: EngineMetrics, clock: any Clock<Duration>, wallClock: WallClock, time: SteadyTime, logger: Logger,
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
        self.time = time
        self.logger = logger
        self.onAcceptedPushes = onAcceptedPushes
        self.queue = queue
        self.replies = replies
    }

    /// Returns when the queue is finished.
    @concurrent
    func run() async {
        await withDiscardingTaskGroup { group in
            while let work = await queue.next(maximumCount: Self.batchCount) {
                for batch in Self.batches(of: work) {
                    await commit(batch, retries: &group)
                    // A store that fails is not waited for at the end: what is undecided is recorded.
                    if Task.isCancelled, storeHealth.isFailing { return group.cancelAll() }
                }
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
        let start = time.elapsed()
        allowances.withLock { $0.now = time.now }
        let committed = await storeHealth.timing {
            await store.commit(Array(batch), at: now) { work in
                self.questions(about: work)
            } deciding: { [decider] work, batch -> Decider.Outcome? in
                switch work {
                case .message(let message, _): return decider.decide(message, at: now, in: &batch)
                case .published(let ids, .replied): batch.markReplied(ids)
                case .published(let ids, .decided), .refused(let ids): for id in ids { batch.settle(id, as: .silent) }
                case .superseding(let reply, _): batch.supersede(reply.stored, answering: reply.id)
                }
                return nil
            }
        }
        var written: [(work: Work, outcome: Decider.Outcome?)] = []
        var failed: [(work: Work, error: any Error)] = []
        for (work, outcome) in zip(batch, committed.outcomes) {
            do {
                written.append((work, try outcome.get()))
            } catch {
                failed.append((work, error))
            }
        }
        if let error = failed.first?.error {
            storeHealth.failed(error)
            metrics.commitFailures.increment()
            logger.error("a transaction failed", metadata: ["messages": "\(failed.count)", "error": "\(error)"])
        } else if written.contains(where: { $0.work.alwaysWrites && $0.outcome?.ending != .queryAnswered }) {
            // An answered query writes nothing before its reply is out.
            storeHealth.succeeded()
        }
        if !written.isEmpty { metrics.commits.increment() }
        follow(written, committed)
        for (work, _) in failed { retry(work, triedAt: start, in: &retries) }
    }

    private func questions(about work: [Work]) -> Questions {
        var questions = decider.questions(about: work.lazy.compactMap(\.message))
        questions.allowances = allowances.withLock {
            $0.restricted(
                toTargets: Array(questions.targets.keys), registeringKeys: questions.registrations.map(\.keyHash),
                questions: Array(questions.queryIDs), of: Array(questions.queries.joined()))
        }
        return questions
    }

    /// Topics first, then the delivery, then the replies: a client may ask on its topic as soon as it has its answer.
    private func follow(_ written: [(work: Work, outcome: Decider.Outcome?)], _ committed: Committed<Decider.Outcome?>) {
        for change in committed.topicChanges {
            switch change {
            case .added(let registration): directory.add(registration: registration.registration, topics: registration.topics)
            case .removed(let registration): directory.remove(registration: registration.registration, topics: registration.topics)
            }
        }
        let outcomes = written.compactMap(\.outcome)
        for outcome in outcomes { metrics.count(outcome.ending) }
        allowances.withLock { allowances in
            for spending in outcomes.lazy.flatMap(\.spendings) { allowances.spend(spending) }
        }
        metrics.coalesced.increment(by: outcomes.reduce(0) { $0 + $1.coalescedPushCount })
        let acceptedPushCount = outcomes.reduce(0) { $0 + $1.acceptedPushCount }
        if acceptedPushCount > 0 {
            metrics.accepted.increment(by: acceptedPushCount)
            onAcceptedPushes()
        }
        replies.drop(committed.supersededReplies)
        let superseded = Set(committed.supersededReplies)
        replies.send(outcomes.compactMap(\.reply).filter { !superseded.contains($0.id) })
        for case .superseding(let reply, isSaid: false) in written.map(\.work) { replies.send([reply]) }
        // Last: who waits until nothing is under way must not miss what follows.
        replies.marked(written.count { if case .published = $0.work { true } else { false } })
        intake.leave(written.flatMap(\.work.intakeRows))
    }

    private func retry(_ work: Work, triedAt start: Duration, in group: inout DiscardingTaskGroup) {
        let clock = self.clock
        let queue = self.queue
        switch work {
        case .message(let message, let since) where time.elapsed() - (since ?? start) < Self.patience:
            group.addTask {
                guard (try? await clock.sleep(for: Self.retryInterval)) != nil else { return }
                queue.send(.message(message, since: since ?? start))
            }
        case .message(let message, _):
            metrics.count(.internalError)
            if let reply = decider.internalError(for: message) {
                guard reply.type != .pushNotificationRegistrationResponse else { return queue.send(.superseding(reply)) }
                replies.send([reply])
                intake.leave([message.id])
            } else {
                queue.send(.refused(ids: [message.id] + message.segments))
            }
        case .superseding(let reply, let isSaid):
            if !isSaid {
                replies.send([reply])
                intake.leave([reply.id])
            }
            group.addTask {
                guard (try? await clock.sleep(for: Self.markRetryInterval)) != nil else { return }
                queue.send(.superseding(reply, isSaid: true))
            }
        case .published, .refused:
            group.addTask {
                guard (try? await clock.sleep(for: Self.markRetryInterval)) != nil else { return }
                queue.send(work)
            }
        }
    }
}

extension CommitStage.Work {
    fileprivate var message: OpenedEnvelope? {
        if case .message(let message, _) = self { message } else { nil }
    }

    /// Whether somebody waits for it.
    var isUrgent: Bool { if case .published = self { false } else { true } }

    /// Whether there is anything to write for certain.
    fileprivate var alwaysWrites: Bool { if case .superseding = self { false } else { true } }

    /// Rows that were under way until this is written.
    fileprivate var intakeRows: [Int64] {
        switch self {
        case .message(let message, _): [message.id]
        case .refused(let ids): ids
        case .superseding(let reply, _): [reply.id]
        case .published: []
        }
    }

    /// The writer's time that it takes, roughly, as measured on a slow core: what is looked up and what is written.
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
