import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store
import Synchronization
import Tasks
import Wire

/// The writer: a single task that decides the waiting messages in transactions of bounded size and cost, and hands their replies to the
/// reply stage.
///
/// Messages that cannot be stored return to the journal: all of them while the store is away, and those about a blocked row
/// (``BlockedMessages``). So do those whose age is in doubt after a step of the clock (``ClockAge``).
final class CommitStage: Sendable {
    let decider: Decider
    private let directory: TopicDirectory
    let context: EngineContext
    let replies: ReplyStage
    private let onAcceptedPushes: @Sendable () -> Void
    private let queue = Monitor(CommitQueue())
    let blocked: BlockedWork
    private let doubtful: DoubtfulMessages
    private let pace = Mutex(CommitPace())
    /// The allowances after all durable decisions.
    private let allowances = Mutex(Allowances())
    /// The coalesced pushes since the last log line about them.
    private let coalesced = Mutex(LogThrottle())
    /// The messages refused because the store fails on them, since the last log line about them.
    let refused = Mutex(LogThrottle())

    init(
        decider: Decider, directory: TopicDirectory, context: EngineContext, onAcceptedPushes: @escaping @Sendable () -> Void,
        to replies: ReplyStage
    ) {
        self.decider = decider
        self.directory = directory
        self.context = context
        self.onAcceptedPushes = onAcceptedPushes
        self.replies = replies
        blocked = BlockedWork(context: context)
        doubtful = DoubtfulMessages(context: context)
    }

    /// The number of messages that wait for blocked rows.
    var blockedCount: Int { blocked.count }

    func send(_ work: [Work]) {
        guard !work.isEmpty else { return }
        let now = context.time.now
        queue.update { queue in
            allowances.withLock { allowances in
                allowances.now = max(allowances.now, now)
                queue.add(work) { allowances.registrationByteCount(of: $0) }
            }
        }
    }

    func finish() { queue.update { $0.finish() } }

    /// Returns when the stage is finished.
    @concurrent
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.blocked.run() }
            group.addTask { await self.doubtful.run() }
            while let work = await queue.wait(for: { $0.next(maximumCount: CommitPace.maximumCount) }), !work.isEmpty {
                var waiting = work[...]
                while !waiting.isEmpty {
                    let batch = pace.withLock { $0.next(of: &waiting) }
                    await commit(batch, retries: &group)
                    // The shutdown does not wait for a store that is away: undecided messages are recorded.
                    if Task.isCancelled, context.storeHealth.isAway { return group.cancelAll() }
                }
            }
            group.cancelAll()
        }
    }

    /// Commits a batch's work that need not wait in a single transaction, except for trials, and handles the failures.
    private func commit(_ batch: ArraySlice<Work>, retries: inout DiscardingTaskGroup) async {
        guard !context.storeHealth.isAway else {
            for work in batch { giveBack(work, in: &retries) }
            return
        }
        let (admitted, trials) = blocked.admit(batch)
        if !admitted.isEmpty { await attempt(admitted, retries: &retries) }
        for trial in trials { await attempt([trial], retries: &retries) }
    }

    private func attempt(_ batch: [Work], retries: inout DiscardingTaskGroup) async {
        let reading = context.wallClock.read()
        let (batch, now) = (doubtful.setAside(from: batch, at: reading), reading.stamp)
        guard !batch.isEmpty else { return }
        let start = context.time.elapsed()
        allowances.withLock { $0.set(context.time.now, serverCount: context.store.cluster?.memberCount ?? 1) }
        let committed = await context.commit(batch, at: now) { work in
            self.lookups(about: work)
        } deciding: { [decider] work, batch -> Decider.Outcome? in
            switch work {
            case .decide(let message, _, _): return decider.decide(message, at: now, in: &batch)
            case .refuse(let message, let reply, _), .tidy(let message, let reply): decider.supersede(message, with: reply, in: &batch)
            case .close(let rows, _): for row in rows { batch.decide(row, as: .silent) }
            }
            return nil
        } hasWritten: { work, outcome in
            work.hasWritten(outcome)
        }
        var durable: [Work] = []
        var outcomes: [Decider.Outcome] = []
        var failures: [(work: Work, error: any Error)] = []
        for (work, result) in zip(batch, committed.outcomes) {
            switch result {
            case .success(let outcome):
                durable.append(work)
                if let outcome { outcomes.append(outcome) }
            case .failure(let error):
                failures.append((work, error))
            }
        }
        pace.withLock { $0.ended(isAway: failures.contains { StoreFault($0.error) == .wholeStore }) }
        let listening = DurableBatch(
            topicChanges: committed.topicChanges, replies: outcomes.compactMap(\.reply) + durable.compactMap(\.refusal),
            supersededReplies: committed.supersededReplies, permits: durable.compactMap(\.permit)
        ).listen(directory)
        account(for: outcomes)
        listening.reply(replies)
        context.deriveKeys(after: committed.topicChanges)
        blocked.unblock(durable)
        for (work, error) in failures { handle(error, of: work, isAlone: batch.count == 1, triedAt: start, in: &retries) }
    }

    /// Counts decisions, spends their credits, and wakes the delivery if they added pushes to the outbox.
    private func account(for outcomes: [Decider.Outcome]) {
        for outcome in outcomes {
            context.metrics.count(outcome.category)
            // A client's author learns only MALFORMED_MESSAGE from the reply.
            if let rejection = outcome.rejection { context.logger.debug("registration rejected", metadata: ["check": "\(rejection)"]) }
        }
        allowances.withLock { allowances in
            for spending in outcomes.lazy.flatMap(\.spendings) { allowances.spend(spending) }
        }
        let evictedCount = outcomes.reduce(0) { $0 + $1.evictedCount }
        if evictedCount > 0 {
            context.logger.info("registrations made room for newer ones of their key", metadata: ["registrations": "\(evictedCount)"])
        }
        let coalescedCount = outcomes.reduce(0) { $0 + $1.coalescedPushCount }
        if let count = coalesced.withLock({ $0.add(coalescedCount, at: context.time.elapsed()) }) {
            context.logger.info("pushes were coalesced, because their devices get too many", metadata: ["pushes": "\(count)"])
        }
        let acceptedPushCount = outcomes.reduce(0) { $0 + $1.acceptedPushCount }
        if acceptedPushCount > 0 { onAcceptedPushes() }
    }

    private func lookups(about work: [Work]) -> Lookups {
        var lookups = decider.lookups(about: work.lazy.compactMap(\.message))
        lookups.allowances = allowances.withLock {
            $0.restricted(
                toTargets: Array(lookups.targets.keys), registeringKeys: lookups.registrations.map(\.keyHash),
                queries: Array(lookups.queryIDs), of: Array(lookups.queries.joined()))
        }
        return lookups
    }
}
