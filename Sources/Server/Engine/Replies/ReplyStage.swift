import Bytes
import CoreMetrics
import Envelope
import Logging
import Store
import Synchronization
import Tasks
import Transport
import Wire

/// Signs, encrypts and publishes replies in the order of a ``ReplyQueue``, and hands their marks to the mark writer.
///
/// No stage waits for replies to be published: a reply beyond the capacity remains a row and is re-read later.
final class ReplyStage: Sendable {
    /// Each worker seals and publishes a reply at a time. Two nodes of the quicker kind accept so many POSTs together (WAKU_REST.md §1.2).
    /// With more workers, the newest reply would wait behind the replies in flight.
    private static let workerCount = 8

    private let queue: Monitor<ReplyQueue>
    private let isFinished = Atomic<Bool>(false)
    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let context: EngineContext
    private let marks: MarkWriter

    /// - Parameter marks: The writer of publication marks.
    init(queue: ReplyQueue, sealer: ReplySealer, transport: any MessageTransport, context: EngineContext, to marks: MarkWriter) {
        self.queue = Monitor(queue)
        self.sealer = sealer
        self.transport = transport
        self.context = context
        self.marks = marks
    }

    // MARK: In

    /// Queues replies whose decisions are durable.
    func send(_ replies: [PendingReply]) {
        if !replies.isEmpty { decideAgain(update { $0.add(replies) }) }
    }

    /// Adds the rows of replies that the last run did not publish.
    func store(_ rows: [Int64]) { update { $0.store(rows) } }

    /// Waits for stored replies to read.
    ///
    /// - Returns: At most `maximumCount` rows, or nil when the task is cancelled.
    func nextRows(maximumCount: Int) async -> [Int64]? { await queue.wait { $0.nextRows(maximumCount: maximumCount) } }

    /// Queues the replies of rows that have been read.
    func send(_ replies: [PendingReply], of rows: [Int64]) { decideAgain(update { $0.add(replies, of: rows) }) }

    /// Drops replies that newer replies supersede.
    func drop(_ rows: [Int64]) {
        guard !rows.isEmpty else { return }
        context.metrics.count(.registration, .superseded, rows.count)
        update { $0.supersede(rows) }
    }

    /// Returns the messages of replies that were evicted and are not stored.
    private func decideAgain(_ rows: [Int64]) {
        if !rows.isEmpty { context.giveBack(rows, .unanswered) }
    }

    /// Ends the back-off after the network had no peers.
    func networkReturned() { update { $0.networkReturned() } }

    func pauseEchoes(_ isPaused: Bool) { update { $0.pauseEchoes(isPaused) } }

    // MARK: State

    func read<Result: Sendable>(_ body: @Sendable (ReplyQueue) -> Result) -> Result { queue.read(body) }

    /// Returns when the queue meets a condition, or when the task is cancelled.
    func wait(until condition: @escaping @Sendable (ReplyQueue) -> Bool) async { await queue.wait(until: condition) }

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

    /// Begins the shutdown: replies that the network rejects become rows and do not delay it.
    func drain() { decideAgain(update { $0.drain() }) }

    /// Stops the workers. Replies that no worker has taken remain rows.
    func finish() {
        isFinished.store(true, ordering: .releasing)
        update { _ in }
    }

    /// Changes the queue after advancing it to the present time. The clock is read outside the lock.
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
            // While all workers are busy, the publication stays due, and the loop would spin.
            await queue.wait { $0.nextTime == due ? nil : () }
        }
    }

    private func publish(_ publication: ReplyQueue.Publication, using random: inout SecureRandom) async {
        var publication = publication
        if !publication.isEcho, await isFinished(publication) { return update { [publication] in $0.abandoned(publication) } }
        guard isTimely(publication) else { return }
        do {
            if publication.isEcho, !transport.canEcho {
                context.metrics.countEchoes(.dropped)
                return update { [publication] in $0.published(publication) }
            }
            var isFresh = publication.envelopes.isEmpty
            if isFresh { try seal(&publication, using: &random) }
            while let envelope = publication.envelopes.first {
                do {
                    try await publish(envelope, of: publication)
                    publication.envelopes.removeFirst()
                } catch TransportError.outdated where !isFresh {
                    // The reply was held, and that it grew too old is no failure.
                    isFresh = true
                    try seal(&publication, using: &random)
                }
            }
        } catch {
            // At a shutdown the row remains unmarked, and the next start publishes the reply.
            if !Task.isCancelled { failed(publication, error) }
            return
        }
        published(publication)
    }

    private func seal(_ publication: inout ReplyQueue.Publication, using random: inout SecureRandom) throws {
        publication.envelopes = try sealer.seal(publication.reply, at: context.wallClock.now(), using: &random)
    }

    /// Publishes an envelope. A reply that turns out to be lost in the network comes back, an echo does not.
    private func publish(_ envelope: WakuEnvelope, of publication: ReplyQueue.Publication) async throws {
        guard !publication.isEcho else { return try await transport.publish(envelope) }
        try await transport.publish(envelope) { [weak self, reply = publication.reply] in self?.takeBack(reply) }
    }

    private func takeBack(_ reply: PendingReply) { decideAgain(update { $0.takeBack(reply) }) }

    /// Whether a reply is published: one that was held too long is dropped, or decided again.
    private func isTimely(_ publication: ReplyQueue.Publication) -> Bool {
        guard !publication.isEcho else { return true }
        let (reply, now) = (publication.reply, context.wallClock.now())
        switch queue.read({ $0.fate(of: publication, at: now) }) {
        case .publish: return true
        case .drop:
            context.metrics.count(ReplyKind(reply.type), .dropped)
            mark(publication)
        case .decideAgain: decideAgain([reply.id] + reply.segments)
        }
        update { $0.abandoned(publication) }
        return false
    }

    /// Queues the mark before the reply leaves the queue, so that the engine never looks idle in between.
    private func mark(_ publication: ReplyQueue.Publication) {
        guard !publication.isEcho, !publication.isTakenBack else { return }
        let reply = publication.reply
        marks.send(.init(rows: [reply.id] + reply.segments, completion: reply.completion))
    }

    /// Whether another server has superseded a reply, or has published it because this server could not. If this server's own decisions
    /// supersede a reply, it is removed from the queue.
    ///
    /// A reply to a registration that was taken back counts as finished, because another server may have superseded it since. Its client
    /// asks again.
    private func isFinished(_ publication: ReplyQueue.Publication) async -> Bool {
        guard let cluster = context.store.cluster, cluster.memberCount > 1 else { return false }
        let reply = publication.reply
        let isLate = reply.receivedAt.duration(to: context.wallClock.now()) > ClusterLimits.livingTime
        guard isLate && !publication.isTakenBack || reply.isToRegistration else { return false }
        return (try? await cluster.isReplyFinished(reply.id)) ?? false
    }

    private func published(_ publication: ReplyQueue.Publication) {
        mark(publication)
        let now = context.wallClock.now()
        let (wasBlocked, wasHeld, droppedEchoCount) = update { queue in
            defer { queue.published(publication) }
            return (queue.isBlocked, queue.wasHeld(publication, at: now), queue.takeDroppedEchoCount())
        }
        if wasBlocked { context.logger.warning("replies can be published again") }
        context.metrics.countEchoes(.dropped, droppedEchoCount)
        if publication.isEcho {
            context.metrics.countEchoes(.published)
        } else {
            let (kind, receivedAt) = (ReplyKind(publication.reply.type), publication.reply.receivedAt)
            context.metrics.count(kind, .published)
            if !wasHeld { context.metrics.record(kind, after: receivedAt.duration(to: now)) }
        }
    }

    private func failed(_ publication: ReplyQueue.Publication, _ error: any Error) {
        var publication = publication
        let reason = error as? TransportError
        if reason == .outdated || reason == .lost { publication.envelopes = [] }
        let failure: ReplyQueue.Failure = reason?.isPassing == false ? .own : .network
        let now = context.wallClock.now()
        if reason == .noPeers || reason == .lost { update { $0.hold(at: now) } }
        let (wasBlocked, isBlocked, unstored) = update { [publication] queue in
            let wasBlocked = queue.isBlocked
            let unstored = queue.failed(publication, failure)
            return (wasBlocked, queue.isBlocked, unstored)
        }
        decideAgain(unstored)
        if publication.isEcho {
            context.metrics.countEchoes(.dropped)
        } else {
            context.metrics.count(ReplyKind(publication.reply.type), .failed)
        }
        if isBlocked, !wasBlocked {
            context.logger.warning("replies cannot be published; retrying", metadata: ["error": "\(error)"])
        } else if failure == .own {
            context.logger.info("a reply cannot be published; retrying", metadata: ["error": "\(error)"])
        }
    }
}
