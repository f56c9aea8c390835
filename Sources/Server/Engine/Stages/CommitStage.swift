import CoreMetrics
import Envelope
import Logging
import PushProtocol
import Store
import Synchronization
import Tasks
import Wire

/// The writer: one task decides the waiting messages in transactions of bounded size and cost, and hands their replies to the reply stage.
final class CommitStage: Sendable {
    /// The maximum number of messages in a transaction. Past some hundreds the cost of a commit no longer shows, and a reply waits for the
    /// last of them.
    private static let batchCount = 500
    /// The maximum estimated writer time of one transaction. Every other write waits that long.
    private static let maximumCost = Duration.milliseconds(100)
    /// How long a message is retried before its sender gets INTERNAL_ERROR (PROTOCOL.md §7 row 12), however long each attempt takes.
    private static let retryDeadline = Duration.seconds(2)
    /// The delay between attempts to decide a message.
    private static let retryInterval = Duration.milliseconds(100)
    /// The delay between attempts at work without a deadline.
    private static let rowRetryInterval = Duration.seconds(1)

    /// A piece of work for the writer. Indirect, so that each move between queues copies one reference instead of the parts of a message.
    indirect enum Work: Sendable {
        /// - Parameter since: The time of the first attempt; nil before it.
        case message(OpenedEnvelope, since: Duration? = nil)
        /// Closes the rows of a message that needs no reply. The store has rejected the message for ``retryDeadline``.
        case close(rows: [Int64])
        /// Storing a registration failed for ``retryDeadline``. Its INTERNAL_ERROR supersedes older, unpublished replies to the
        /// installation.
        case supersede(PendingReply, OpenedEnvelope)
    }

    struct Item: Sendable {
        var work: Work
        /// The permit of the message; nil once its INTERNAL_ERROR is with the reply stage.
        var permit: SharedPermit?
    }

    private let decider: Decider
    private let directory: TopicDirectory
    private let context: EngineContext
    private let replies: ReplyStage
    private let onAcceptedPushes: @Sendable () -> Void
    private let readAgain: @Sendable ([Int64]) -> Void
    private let queue = Monitor(CommitQueue())
    /// The allowances after all durable decisions.
    private let allowances = Mutex(Allowances())
    /// The coalesced pushes since the last log line about them.
    private let coalesced = Mutex(RepeatCounter())

    /// - Parameter readAgain: Called with the rows of a segmented message when another server owns one of them. Those that this server owns
    ///   must be read again.
    init(
        decider: Decider, directory: TopicDirectory, context: EngineContext, onAcceptedPushes: @escaping @Sendable () -> Void,
        readAgain: @escaping @Sendable ([Int64]) -> Void, to replies: ReplyStage
    ) {
        self.decider = decider
        self.directory = directory
        self.context = context
        self.onAcceptedPushes = onAcceptedPushes
        self.readAgain = readAgain
        self.replies = replies
    }

    func send(_ items: [Item]) {
        guard !items.isEmpty else { return }
        let now = context.time.now
        queue.update { queue in
            allowances.withLock { allowances in
                allowances.now = max(allowances.now, now)
                queue.add(items) { allowances.registrationByteCount(of: $0) }
            }
        }
    }

    func finish() { queue.update { $0.finish() } }

    /// Returns when the stage is finished.
    @concurrent
    func run() async {
        await withDiscardingTaskGroup { group in
            while let items = await queue.wait(for: { $0.next(maximumCount: Self.batchCount) }), !items.isEmpty {
                for batch in Self.batches(of: items) {
                    await commit(batch, retries: &group)
                    // The shutdown does not wait for a store that fails: undecided messages are recorded.
                    if Task.isCancelled, context.storeHealth.isFailing { return group.cancelAll() }
                }
            }
            group.cancelAll()
        }
    }

    /// Splits items into batches that each cost at most ``maximumCost``. A more expensive item is a batch of its own.
    static func batches(of items: [Item]) -> [ArraySlice<Item>] {
        var batches: [ArraySlice<Item>] = []
        var start = 0
        var cost = Duration.zero
        for (index, item) in items.enumerated() {
            cost += item.work.cost
            guard cost > maximumCost, index > start else { continue }
            batches.append(items[start..<index])
            start = index
            cost = item.work.cost
        }
        return batches + [items[start...]]
    }

    /// Commits a batch in one transaction, and schedules the retries of the items that failed.
    private func commit(_ batch: ArraySlice<Item>, retries: inout DiscardingTaskGroup) async {
        let now = context.wallClock.now()
        let start = context.time.elapsed()
        allowances.withLock { $0.set(context.time.now, serverCount: context.store.cluster?.memberCount ?? 1) }
        let committed = await context.commit(batch.map(\.work), at: now) { work in
            self.lookups(about: work)
        } deciding: { [decider] work, batch -> Decider.Outcome? in
            switch work {
            case .message(let message, _): return decider.decide(message, at: now, in: &batch)
            case .close(let rows): for row in rows { batch.decide(row, as: .silent) }
            case .supersede(let reply, let message): decider.supersede(message, with: reply, in: &batch)
            }
            return nil
        }
        var durable: [Item] = []
        var outcomes: [Decider.Outcome] = []
        var failures: [(item: Item, error: any Error)] = []
        var hasWritten = false
        for (item, result) in zip(batch, committed.outcomes) {
            switch result {
            case .success(let outcome):
                durable.append(item)
                if let outcome { outcomes.append(outcome) }
                if item.work.hasWritten(outcome) { hasWritten = true }
            case .failure(let error):
                failures.append((item, error))
            }
        }
        if failures.isEmpty, hasWritten { context.storeHealth.succeeded() }
        let listening = DurableBatch(
            topicChanges: committed.topicChanges, replies: outcomes.compactMap(\.reply) + durable.compactMap(\.refusal),
            supersededReplies: committed.supersededReplies, permits: durable.compactMap(\.permit)
        ).listen(directory)
        account(for: outcomes)
        listening.reply(replies)
        for (item, error) in failures {
            if !error.isTaken {
                retry(item, triedAt: start, in: &retries)
            } else if let message = item.work.message, !message.segments.isEmpty {
                readAgain([message.id] + message.segments)
            }
        }
    }

    /// Counts decisions, spends their credits, and wakes the delivery if they added pushes to the outbox.
    private func account(for outcomes: [Decider.Outcome]) {
        for outcome in outcomes { context.metrics.count(outcome.category) }
        allowances.withLock { allowances in
            for spending in outcomes.lazy.flatMap(\.spendings) { allowances.spend(spending) }
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

    private func retry(_ item: Item, triedAt start: Duration, in group: inout DiscardingTaskGroup) {
        switch item.work {
        case .message(let message, let since) where context.time.elapsed() - (since ?? start) < Self.retryDeadline:
            send(Item(work: .message(message, since: since ?? start), permit: item.permit), after: Self.retryInterval, in: &group)
        case .message(let message, _):
            context.metrics.count(message.internalError)
            guard let reply = decider.internalError(for: message) else {
                return send([Item(work: .close(rows: [message.id] + message.segments), permit: item.permit)])
            }
            guard reply.type != .pushNotificationRegistrationResponse else {
                return send([Item(work: .supersede(reply, message), permit: item.permit)])
            }
            replies.send([reply])
        case .supersede:
            // The INTERNAL_ERROR is published although it could not supersede older replies yet: its sender waits.
            replies.send([item.refusal].compactMap(\.self))
            send(Item(work: item.work, permit: nil), after: Self.rowRetryInterval, in: &group)
        case .close:
            send(item, after: Self.rowRetryInterval, in: &group)
        }
    }

    private func send(_ item: Item, after delay: Duration, in group: inout DiscardingTaskGroup) {
        group.addTask { if (try? await self.context.clock.sleep(for: delay)) != nil { self.send([item]) } }
    }
}

extension CommitStage.Item {
    /// The INTERNAL_ERROR of a `supersede` item that is not published yet; nil for other work. It is published after the write succeeds or
    /// fails for the first time.
    fileprivate var refusal: PendingReply? {
        if case .supersede(let reply, _) = work, permit != nil { reply } else { nil }
    }
}

extension CommitStage.Work {
    fileprivate var message: OpenedEnvelope? {
        switch self {
        case .message(let message, _), .supersede(_, let message): message
        case .close: nil
        }
    }

    /// Whether the work has certainly changed the database. A query with a reply changes nothing before the reply is published.
    fileprivate func hasWritten(_ outcome: Decider.Outcome?) -> Bool {
        if case .supersede = self { false } else { outcome?.category != .queryReplied }
    }

    /// The estimated writer time, as measured on a slow core: lookups and writes.
    var cost: Duration {
        .microseconds(50) + .microseconds(75) * entryCount
    }

    /// The number of targets of a push request, or of keys of a query; for a registration 1 plus one for each hundred list entries.
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
