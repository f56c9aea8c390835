import Concurrency
import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Synchronization
import Transport

/// Signs, encrypts and publishes replies in the order of a ``ReplyQueue``, and hands their marks to the mark writer.
///
/// No stage waits for it: a reply without capacity, or that cannot be published, stays a row, and is read again later.
final class ReplyStage: Sendable {
    /// The number of replies that are sealed and published at the same time: as many POSTs as two nodes of the quicker kind take
    /// (WAKU_REST.md §1.2). With more, the newest would wait behind those in flight.
    private static let workerCount = 8

    private let queue: Monitor<ReplyQueue>
    private let isFinished = Atomic<Bool>(false)
    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let context: EngineContext
    private let marks: MarkWriter
    private let onUnstored: @Sendable ([Int64]) -> Void

    /// - Parameter onUnstored: Receives rows whose replies found no capacity and are not stored: their messages are to be decided again.
    init(
        queue: ReplyQueue, sealer: ReplySealer, transport: any MessageTransport, context: EngineContext,
        onUnstored: @escaping @Sendable ([Int64]) -> Void, to marks: MarkWriter
    ) {
        self.queue = Monitor(queue)
        self.sealer = sealer
        self.transport = transport
        self.context = context
        self.onUnstored = onUnstored
        self.marks = marks
    }

    // MARK: In

    /// Takes replies whose decision is durable.
    func send(_ replies: [PendingReply]) {
        if !replies.isEmpty { onUnstored(update { $0.add(replies) }) }
    }

    /// Takes rows of replies that the last run left.
    func store(_ rows: [Int64]) { update { $0.store(rows) } }

    /// Waits for stored replies to read.
    ///
    /// - Returns: At most `maximumCount` rows; nil when the task is cancelled.
    func nextRows(maximumCount: Int) async -> [Int64]? { await queue.wait { $0.nextRows(maximumCount: maximumCount) } }

    /// Takes the replies of rows that have been read.
    func send(_ replies: [PendingReply], of rows: [Int64]) { onUnstored(update { $0.add(replies, of: rows) }) }

    /// Drops replies that newer ones supersede.
    func drop(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        context.metrics.repliesSuperseded.increment(by: rows.count)
        update { $0.supersede(rows) }
    }

    func pauseEchoes(_ isPaused: Bool) { update { $0.pauseEchoes(isPaused) } }

    // MARK: State

    func read<Result: Sendable>(_ body: @Sendable (ReplyQueue) -> Result) -> Result { queue.read(body) }

    /// Returns when the queue meets a condition, or when the task is cancelled.
    func wait(until condition: @escaping @Sendable (ReplyQueue) -> Bool) async { await queue.wait { condition($0) ? () : nil } }

    // MARK: Running

    /// Returns when the stage is finished.
    func run() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await self.runTimer() }
            await withTaskGroup(of: Void.self) { workers in
                for _ in 0..<Self.workerCount {
                    workers.addTask { await self.work() }
                }
            }
            group.cancelAll()
        }
    }

    /// From now on a network that takes no reply does not delay the shutdown: the replies stay rows.
    func drain() { onUnstored(update { $0.drain() }) }

    /// Stops the workers. Replies that no worker has taken stay in the database.
    func finish() {
        isFinished.store(true, ordering: .releasing)
        update { _ in }
    }

    /// Changes the queue at the present time, which is asked for outside its lock.
    private func update<Result: Sendable>(_ change: (inout ReplyQueue) -> Result) -> Result {
        let now = context.time.elapsed()
        return queue.update { queue in
            queue.advance(to: now)
            return change(&queue)
        }
    }

    @concurrent
    private func work() async {
        var random = SecureRandom()
        while let publication = await next() { await publish(publication, using: &random) }
    }

    private func next() async -> ReplyQueue.Publication? {
        let now = context.time.elapsed()
        let publication = await queue.wait { queue -> ReplyQueue.Publication?? in
            if self.isFinished.load(ordering: .acquiring) { return .some(nil) }
            queue.advance(to: now)
            return queue.next().map { .some($0) }
        }
        return publication ?? nil
    }

    /// Wakes the workers for publications that only need time to pass.
    private func runTimer() async {
        while let due = await queue.wait(for: { $0.nextTime }), !Task.isCancelled {
            _ = await withTimeout(after: { try await self.context.time.sleep(until: due) }) {
                await self.queue.wait { $0.nextTime == due ? nil : () }
            }
            guard context.time.elapsed() >= due else { continue }
            update { _ in }
            // While all workers are busy, none takes the publication that is due.
            await queue.wait { $0.nextTime == due ? nil : () }
        }
    }

    private func publish(_ publication: ReplyQueue.Publication, using random: inout SecureRandom) async {
        var publication = publication
        do {
            if publication.isEcho, !transport.canEcho {
                context.metrics.echoesDropped.increment()
                return update { [publication] in $0.published(publication) }
            }
            if publication.envelopes.isEmpty {
                publication.envelopes = try sealer.seal(publication.reply, at: context.wallClock.now(), using: &random)
            }
            while let envelope = publication.envelopes.first {
                try await transport.publish(envelope)
                publication.envelopes.removeFirst()
            }
        } catch {
            // At a shutdown the row tells the next start.
            if !Task.isCancelled { failed(publication, error) }
            return
        }
        published(publication)
    }

    private func published(_ publication: ReplyQueue.Publication) {
        let reply = publication.reply
        // A waiter for an idle engine finds the mark or the reply.
        if !publication.isEcho { marks.send(.init(rows: [reply.id] + reply.segments, completion: reply.completion)) }
        let (wasBlocked, droppedEchoCount) = update { queue in
            defer { queue.published(publication) }
            return (queue.isBlocked, queue.takeDroppedEchoCount())
        }
        if wasBlocked { context.logger.warning("replies can be published again") }
        context.metrics.echoesDropped.increment(by: droppedEchoCount)
        if publication.isEcho { context.metrics.echoesPublished.increment() } else { context.metrics.repliesPublished.increment() }
    }

    private func failed(_ publication: ReplyQueue.Publication, _ error: any Error) {
        var publication = publication
        if case TransportError.outdated = error { publication.envelopes = [] }
        let failure: ReplyQueue.Failure = (error as? TransportError)?.isPassing == false ? .own : .network
        let (wasBlocked, isBlocked, unstored) = update { [publication] queue in
            let wasBlocked = queue.isBlocked
            let unstored = queue.failed(publication, failure)
            return (wasBlocked, queue.isBlocked, unstored)
        }
        onUnstored(unstored)
        if publication.isEcho { context.metrics.echoesDropped.increment() } else { context.metrics.replyFailures.increment() }
        if isBlocked, !wasBlocked {
            context.logger.warning("replies cannot be published; they wait in the database", metadata: ["error": "\(error)"])
        } else if failure == .own {
            context.logger.info("a reply was refused; it waits in the database", metadata: ["error": "\(error)"])
        }
    }
}
