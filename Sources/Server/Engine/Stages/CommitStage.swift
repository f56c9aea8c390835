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
    /// The delay between attempts to decide a message.
    private static let retryInterval = Duration.milliseconds(100)
    /// The delay between looks at the clock while its step keeps messages waiting.
    private static let doubtInterval = Duration.seconds(1)
    /// The delay between attempts at work without a deadline.
    private static let rowRetryInterval = Duration.seconds(1)

    private let decider: Decider
    private let directory: TopicDirectory
    private let context: EngineContext
    private let replies: ReplyStage
    private let onAcceptedPushes: @Sendable () -> Void
    private let queue = Monitor(CommitQueue())
    private let blocked = Monitor(BlockedMessages())
    private let doubtful = Monitor(DoubtfulMessages())
    private let pace = Mutex(CommitPace())
    /// Whether the log says that messages wait for a locked row.
    private let lockWarning = Atomic(false)
    /// The allowances after all durable decisions.
    private let allowances = Mutex(Allowances())
    /// The coalesced pushes since the last log line about them.
    private let coalesced = Mutex(LogThrottle())
    /// The messages refused because the store fails on them, since the last log line about them.
    private let refused = Mutex(LogThrottle())

    init(
        decider: Decider, directory: TopicDirectory, context: EngineContext, onAcceptedPushes: @escaping @Sendable () -> Void,
        to replies: ReplyStage
    ) {
        self.decider = decider
        self.directory = directory
        self.context = context
        self.onAcceptedPushes = onAcceptedPushes
        self.replies = replies
    }

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
            group.addTask { await self.runTrials() }
            group.addTask { await self.returnDoubtful() }
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
        let (admitted, trials) = admit(batch)
        if !admitted.isEmpty { await attempt(admitted, retries: &retries) }
        for trial in trials { await attempt([trial], retries: &retries) }
    }

    private func attempt(_ batch: [Work], retries: inout DiscardingTaskGroup) async {
        let reading = context.wallClock.read()
        let (batch, now) = (setAsideDoubtful(batch, at: reading), reading.stamp)
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
        unblock(durable)
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

// MARK: - Failures

extension CommitStage {
    private func handle(
        _ error: any Error, of work: Work, isAlone: Bool, triedAt start: Duration, in group: inout DiscardingTaskGroup
    ) {
        switch (StoreFault(error), work) {
        case (.taken, _):
            // Another server owns the message, or an earlier attempt decided it although its commit seemed to fail. The journal has the
            // reply then.
            context.giveBack(work.rows)
        case (.rowsHeld, .decide(let message, _, _)):
            warn(of: error)
            let cost = context.time.elapsed() - start
            if case .ownersLocked(let owners, _)? = error as? StoreError {
                block(message, owners.map { .owner($0) })
            } else {
                block(message, [.message(message.id)], after: isAlone ? cost : .zero)
            }
        case (.wholeStore, .decide(let message, _, _)) where isAlone:
            // If the store is back and fails on it again, the message is tried alone, and doesn't delay others.
            block(message, [.message(message.id)])
        case (.wholeStore, _):
            giveBack(work, in: &group)
        case (.ofMessage, .decide(let message, let permit, let failures)):
            judge(message, permit, context.storeHealth.failures(failures, triedAt: start), in: &group)
        case (.rowsHeld, .refuse(let message, let reply, _)), (.ofMessage, .refuse(let message, let reply, _)):
            replies.send([reply])
            retry(.tidy(message, with: reply), in: &group)
        case (.rowsHeld, .tidy), (.ofMessage, .tidy), (.rowsHeld, .close), (.ofMessage, .close):
            retry(work, in: &group)
        }
    }

    /// Tries a message again after a delay, or refuses it once the store has failed on it for long enough.
    private func judge(
        _ message: OpenedEnvelope, _ permit: SharedPermit, _ failures: StoreState.Failures, in group: inout DiscardingTaskGroup
    ) {
        group.addTask {
            guard (try? await self.context.clock.sleep(for: Self.retryInterval)) != nil else { return }
            switch await self.context.storeHealth.verdict(on: failures, clock: self.context.clock) {
            case .wait: self.context.giveBack(message.rows)
            case .retry: self.send([.decide(message, permit, failures: failures)])
            case .refuse: self.refuse(message, permit)
            case nil: break
            }
        }
    }

    /// Tries work without a deadline again after a delay.
    private func retry(_ work: Work, in group: inout DiscardingTaskGroup) {
        group.addTask {
            if (try? await self.context.clock.sleep(for: Self.rowRetryInterval)) != nil { self.send([work]) }
        }
    }

    /// Replies INTERNAL_ERROR to a message on which the store fails, although it works.
    private func refuse(_ message: OpenedEnvelope, _ permit: SharedPermit) {
        context.metrics.count(message.internalError)
        if let count = refused.withLock({ $0.add(1, at: context.time.elapsed()) }) {
            context.logger.error("messages were refused, because the store fails on them", metadata: ["messages": "\(count)"])
        }
        guard let reply = decider.internalError(for: message) else { return send([.close(rows: message.rows, permit)]) }
        if reply.type == .pushNotificationRegistrationResponse {
            send([.refuse(message, with: reply, permit)])
        } else {
            replies.send([reply])
        }
    }

    /// Returns work to the journal while the store is away. A message whose sender has the INTERNAL_ERROR must not be decided again.
    private func giveBack(_ work: Work, in group: inout DiscardingTaskGroup) {
        if case .tidy = work { retry(work, in: &group) } else { context.giveBack(work.rows) }
    }
}

// MARK: - Messages whose age is in doubt

extension CommitStage {
    /// Messages that are too old only if the clock is right, by row.
    struct DoubtfulMessages: Sendable {
        /// All rows, which return to the journal once the clock is not in doubt.
        var rows: [Int64] = []
        /// The rows that the journal does not know to age from their senders' times. It would let them age from their arrival.
        var backfilled: [Int64] = []
    }

    /// Lets messages wait that are too old only if the clock is right.
    ///
    /// - Returns: The others.
    private func setAsideDoubtful(_ batch: [Work], at reading: ClockReading) -> [Work] {
        guard reading.isHeld else { return batch }
        func isDoubtful(_ work: Work) -> Bool { work.undecided?.age(at: reading) == .doubtful }
        let messages = batch.filter(isDoubtful).compactMap(\.undecided)
        guard !messages.isEmpty else { return batch }
        doubtful.update { doubtful in
            doubtful.rows += messages.flatMap(\.rows)
            doubtful.backfilled += messages.filter(\.agesFromSending).flatMap(\.rows)
        }
        return batch.filter { !isDoubtful($0) }
    }

    /// Returns them to the journal once the clock is not in doubt, until the task is cancelled.
    private func returnDoubtful() async {
        while await doubtful.wait(for: { $0.rows.isEmpty ? nil : () }) != nil {
            let backfilled = doubtful.read(\.backfilled)
            if !backfilled.isEmpty, (try? await context.store.ageFromSending(backfilled)) != nil {
                doubtful.update { $0.backfilled.removeFirst(backfilled.count) }
            }
            guard (try? await context.clock.sleep(for: Self.doubtInterval)) != nil else { return }
            guard !context.wallClock.read().isHeld else { continue }
            let rows = doubtful.update { doubtful in
                guard doubtful.backfilled.isEmpty else { return [Int64]() }
                defer { doubtful = DoubtfulMessages() }
                return doubtful.rows
            }
            context.giveBack(rows)
        }
    }
}

// MARK: - Blocked messages

extension CommitStage {
    /// Lets messages about blocked rows wait.
    ///
    /// - Returns: The work to try together, and the messages whose trial it is.
    private func admit(_ batch: ArraySlice<Work>) -> (together: [Work], alone: [Work]) {
        guard blocked.read({ !$0.isEmpty }) else { return (Array(batch), []) }
        return blocked.update { blocked in
            var (together, alone): ([Work], [Work]) = ([], [])
            for work in batch {
                guard let message = work.undecided else {
                    together.append(work)
                    continue
                }
                switch blocked.admit(message.rows, message.subjects) {
                case .together: together.append(work)
                case .alone: alone.append(work)
                case .no: break
                }
            }
            return (together, alone)
        }
    }

    /// Warns when messages start to wait for a locked row, and whenever the store names the session that holds it.
    private func warn(of error: any Error) {
        let holder: String?
        switch error as? StoreError {
        case .rowLocked(let session), .ownersLocked(_, let session): holder = session
        default: return
        }
        guard lockWarning.exchange(true, ordering: .relaxed) == false || holder != nil else { return }
        context.logger.warning(
            "messages wait for a row that another session of the database holds", metadata: ["session": "\(holder ?? "unknown")"])
    }

    private func block(_ message: OpenedEnvelope, _ subjects: [BlockedMessages.Subject], after cost: Duration = .zero) {
        let now = context.time.elapsed()
        blocked.update { $0.failed(message.rows, subjects, at: now, after: cost) }
    }

    /// Returns the messages to the journal that waited for rows which are no longer blocked.
    private func unblock(_ stored: [Work]) {
        guard blocked.read({ !$0.isEmpty }) else { return }
        let rows = blocked.update { $0.succeeded(stored.compactMap(\.undecided).flatMap(\.subjects)) }
        context.giveBack(rows)
        if blocked.read(\.isEmpty), lockWarning.exchange(false, ordering: .relaxed) {
            context.logger.warning("messages no longer wait for a row that another session of the database holds")
        }
    }

    /// The number of messages that wait for blocked rows.
    var blockedCount: Int { blocked.read(\.count) }

    /// Starts the trials of blocked messages, until the task is cancelled.
    private func runTrials() async {
        while let due = await blocked.wait(for: { $0.nextTrialTime }), !Task.isCancelled {
            _ = await withTimeout(after: { try await self.context.time.sleep(until: due) }) {
                await self.blocked.wait { $0.nextTrialTime == due ? nil : () }
            }
            let now = context.time.elapsed()
            guard now >= due else { continue }
            context.giveBack(blocked.update { $0.startTrials(at: now) })
        }
    }
}
