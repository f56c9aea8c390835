import Concurrency
import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Synchronization
import Transport

/// Signs, encrypts and publishes what was decided, in the order of a `ReplyQueue`.
///
/// Nothing waits for it: a reply that finds no room, or that cannot be published, stays a row, and is read again later.
final class ReplyStage: Sendable {
    /// Replies that are sealed and published at the same time: as many POSTs as two nodes of the quicker kind take (WAKU_REST.md §1.2).
    /// With more, the newest would wait behind those that have their turn.
    private static let workerCount = 8

    /// Rows whose reply is to be published, or made again and published.
    struct Backlogs: Sendable {
        let replies = Backlog(order: .newestFirst)
        /// Rows of messages whose answer is not kept.
        let queries = Backlog(order: .newestFirst)

        func add(_ evicted: [PendingReply]) {
            replies.add(evicted.filter { $0.mark == .replied }.map(\.id))
            queries.add(evicted.filter { $0.mark == .decided }.flatMap { [$0.id] + $0.segments })
        }
    }

    let backlogs = Backlogs()
    private let queue: Monitor<ReplyQueue>
    private let isFinished = Atomic<Bool>(false)
    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let metrics: EngineMetrics
    private let time: SteadyTime
    private let wallClock: WallClock
    private let logger: Logger
    /// nil when replies are said once.
    private let echo: EchoStage?
    private let output: BatchQueue<CommitStage.Work>

    init(
        identity: PrivateKey, transport: any MessageTransport, limits: ReplyQueue.Limits, metrics: EngineMetrics, time: SteadyTime,
        wallClock: WallClock, logger: Logger, echo: EchoStage?, output: BatchQueue<CommitStage.Work>
    ) {
        queue = Monitor(ReplyQueue(limits: limits))
        sealer = ReplySealer(identity: identity)
        self.transport = transport
        self.metrics = metrics
        self.time = time
        self.wallClock = wallClock
        self.logger = logger
        self.echo = echo
        self.output = output
    }

    // MARK: In

    /// Takes replies whose decision is written, or that were read again.
    func send(_ replies: [PendingReply]) {
        guard !replies.isEmpty else { return }
        backlogs.add(queue.update { $0.add(replies) })
    }

    /// Says a reply again, after all that has not been said.
    func sendEcho(_ reply: PendingReply) {
        guard transport.canEcho else { return metrics.echoesDropped.increment() }
        metrics.echoesDropped.increment(by: queue.update { $0.addEcho(reply) })
    }

    /// Whether echoes wait although it is their turn.
    func holdEchoes(_ areHeld: Bool) { queue.update { $0.holdEchoes(areHeld) } }

    /// These replies are not to be published any more: their clients will hear something newer.
    func drop(_ ids: [Int64]) {
        guard !ids.isEmpty else { return }
        metrics.repliesSuperseded.increment(by: ids.count)
        backlogs.replies.remove(ids)
        queue.update { $0.drop(ids) }
    }

    /// It is written that so many replies are out.
    func marked(_ count: Int) {
        if count > 0 { queue.update { $0.marked(count) } }
    }

    // MARK: State

    /// Replies in memory, until it is written that they are out.
    var count: Int { queue.read(\.count) }

    /// Returns when rows may be read again.
    ///
    /// - Returns: how many; nil when the task was cancelled.
    func waitForRoom() async -> Int? { await queue.wait { $0.roomForRows > 0 ? $0.roomForRows : nil } }

    /// Returns when nothing is under way, or when the task is cancelled.
    func waitUntilIdle() async { await queue.wait { $0.isIdle ? () : nil } }

    // MARK: Running

    /// Returns when finished.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.keepTime() }
            await withTaskGroup(of: Void.self) { workers in
                for _ in 0..<Self.workerCount {
                    workers.addTask { await self.work() }
                }
            }
            group.cancelAll()
        }
    }

    /// From now on a network that takes nothing holds up no shutdown: what it does not take stays a row.
    func drain() { backlogs.add(queue.update { $0.drain() }) }

    /// What has no turn yet gets none.
    func finish() {
        isFinished.store(true, ordering: .releasing)
        queue.update { _ in }
    }

    @concurrent
    private func work() async {
        var random = SecureRandom()
        while let turn = await nextTurn() { await take(turn, using: &random) }
    }

    private func nextTurn() async -> ReplyQueue.Turn? {
        let turn = await queue.wait { queue -> ReplyQueue.Turn?? in
            if self.isFinished.load(ordering: .acquiring) { return .some(nil) }
            return queue.next(at: self.time.elapsed()).map { .some($0) }
        }
        return turn ?? nil
    }

    /// Asks for a turn again when one is due that nothing else brings about.
    private func keepTime() async {
        while let due = await queue.wait(for: { $0.nextTime }), !Task.isCancelled {
            await withTaskGroup(of: Void.self) { group in
                group.addTask { try? await self.time.sleep(until: due) }
                group.addTask { await self.queue.wait { $0.nextTime == due ? nil : () } }
                await group.next()
                group.cancelAll()
            }
            if time.elapsed() >= due { await pass(due) }
        }
    }

    /// Whoever waits for a turn takes it, and what is due then is something else; or else nobody is free to take it.
    private func pass(_ due: Duration) async {
        queue.update { _ in }
        await queue.wait { $0.nextTime == due ? nil : () }
    }

    private func take(_ turn: ReplyQueue.Turn, using random: inout SecureRandom) async {
        var turn = turn
        do {
            if turn.envelopes.isEmpty {
                if turn.isEcho, !isWorthSaying(turn.reply) { return queue.update { [turn] in $0.published(turn) } }
                turn.envelopes = try sealer.seal(turn.reply, at: wallClock.now(), using: &random)
            }
            while let envelope = turn.envelopes.first {
                try await transport.publish(envelope)
                turn.envelopes.removeFirst()
            }
        } catch {
            // At the end of the server: its row tells the next start.
            if !Task.isCancelled { failed(turn, error) }
            return
        }
        published(turn)
    }

    private func isWorthSaying(_ reply: PendingReply) -> Bool { transport.canEcho && echo?.isCurrent(reply) == true }

    private func published(_ turn: ReplyQueue.Turn) {
        let wasHeldUp = queue.update { queue in
            defer { queue.published(turn) }
            return queue.isHeldUp
        }
        if wasHeldUp { logger.notice("replies are published again") }
        guard !turn.isEcho else { return metrics.echoesPublished.increment() }
        metrics.repliesPublished.increment()
        echo?.add(turn.reply)
        output.send(.published(ids: [turn.reply.id] + turn.reply.segments, turn.reply.mark))
    }

    private func failed(_ turn: ReplyQueue.Turn, _ error: any Error) {
        var turn = turn
        if case TransportError.outdated = error { turn.envelopes = [] }
        let failure: ReplyQueue.Failure = (error as? TransportError)?.isPassing == false ? .own : .network
        let (wasHeldUp, isHeldUp, evicted) = queue.update { [turn] queue in
            let wasHeldUp = queue.isHeldUp
            let evicted = queue.failed(turn, failure, at: self.time.elapsed())
            return (wasHeldUp, queue.isHeldUp, evicted)
        }
        backlogs.add(evicted)
        if turn.isEcho { metrics.echoesDropped.increment() } else { metrics.replyFailures.increment() }
        if isHeldUp, !wasHeldUp {
            logger.warning("replies cannot be published; they wait in the database", metadata: ["error": "\(error)"])
        } else if failure == .own {
            logger.info("a reply was refused; it waits in the database", metadata: ["error": "\(error)"])
        }
    }
}
