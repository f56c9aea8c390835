import Concurrency
import CoreMetrics
import Envelope
import Logging
import ServiceLifecycle
import StatusCrypto
import Synchronization
import Transport

/// Signs, encrypts and publishes what was decided.
///
/// Nothing waits for it: a reply that finds no room, or that cannot be published, stays a row, and is read again later.
final class ReplyStage: Sendable {
    /// Replies a worker takes at once: one reply must not wait long for the sealing of others.
    private static let batchCount = 8

    /// Rows whose reply is to be published, or made again and published.
    struct Backlogs: Sendable {
        let replies = Backlog()
        /// Of messages whose answer is not kept.
        let queries = Backlog()

        func add(_ reply: PendingReply) {
            switch reply.mark {
            case .replied: replies.add([reply.id])
            case .decided: queries.add([reply.id] + reply.segments)
            }
        }
    }

    /// Entered by replies until their mark is written.
    let room: ConcurrencyLimiter
    let backlogs = Backlogs()
    private let isFailing = Atomic<Bool>(false)
    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let metrics: EngineMetrics
    private let wallClock: WallClock
    private let logger: Logger
    /// nil when replies are said once.
    private let echo: EchoStage?
    private let queue = BatchQueue<PendingReply>()
    private let output: BatchQueue<CommitStage.Work>

    /// - Parameter maximumCount: of replies in memory.
    init(
        identity: PrivateKey, transport: any MessageTransport, maximumCount: Int, metrics: EngineMetrics, wallClock: WallClock,
        logger: Logger, echo: EchoStage?, output: BatchQueue<CommitStage.Work>
    ) {
        room = ConcurrencyLimiter(limit: maximumCount)
        sealer = ReplySealer(identity: identity)
        self.transport = transport
        self.metrics = metrics
        self.wallClock = wallClock
        self.logger = logger
        self.echo = echo
        self.output = output
    }

    /// Whether the last publication failed.
    var isHeldUp: Bool { isFailing.load(ordering: .relaxed) }

    /// Takes a reply whose decision is written.
    func send(_ reply: PendingReply) {
        guard room.tryAcquire() else { return backlogs.add(reply) }
        queue.send(reply)
    }

    /// Takes replies that have entered ``room``.
    func send(_ replies: [PendingReply]) {
        queue.send(replies)
    }

    /// No more replies will come.
    func finish() {
        queue.finish()
    }

    /// Returns when finished.
    func run(workerCount: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { await self.work() }
            }
        }
    }

    @concurrent
    private func work() async {
        var random = SecureRandom()
        while let batch = await queue.next(maximumCount: Self.batchCount) {
            var marks: [CommitStage.Work] = []
            for reply in batch {
                if await publish(reply, using: &random) {
                    marks.append(.published(ids: [reply.id] + reply.segments, reply.mark))
                } else {
                    backlogs.add(reply)
                    room.release()
                }
            }
            output.send(marks)
        }
    }

    private func publish(_ reply: PendingReply, using random: inout SecureRandom) async -> Bool {
        // A node that is away holds up no shutdown.
        if isHeldUp, Task.isShuttingDownGracefully { return false }
        do {
            for envelope in try sealer.seal(reply, at: wallClock.now(), using: &random) { try await transport.publish(envelope) }
        } catch {
            metrics.replyFailures.increment()
            if !isFailing.exchange(true, ordering: .relaxed) {
                logger.warning("replies cannot be published; they wait in the database", metadata: ["error": "\(error)"])
            }
            return false
        }
        if isHeldUp, isFailing.exchange(false, ordering: .relaxed) { logger.notice("replies are published again") }
        metrics.repliesPublished.increment()
        echo?.add(reply)
        return true
    }
}
