import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Transport

/// Signs, encrypts and publishes what was decided.
final class ReplyStage: Sendable {
    /// Replies a worker takes at once: one reply must not wait long for the sealing of others.
    private static let batchCount = 8
    /// For a reply that the node refuses: with the back-off below, about eight minutes, after which it is taken to be at fault itself and
    /// left to the next start. Everything else is the node's trouble, and lasts as long as it lasts.
    private static let maximumRefusalCount = 20
    private static let longestBackOff = Duration.seconds(30)

    struct Item: Sendable {
        fileprivate var reply: PendingReply
        /// Sealed and not yet published: a retry must be the same bytes, which the network takes for the same message.
        fileprivate var envelopes: [WakuEnvelope]?
        fileprivate var attemptCount = 0
        fileprivate var refusalCount = 0

        init(_ reply: PendingReply) { self.reply = reply }
    }

    private let sealer: ReplySealer
    private let transport: any MessageTransport
    private let admission: Admission
    private let metrics: EngineMetrics
    private let clock: any Clock<Duration>
    private let wallClock: WallClock
    private let logger: Logger
    /// nil when replies are said once.
    private let echo: EchoStage?
    private let queue: WorkQueue<Item>
    private let output: WorkQueue<CommitStage.Work>

    init(
        identity: PrivateKey, transport: any MessageTransport, admission: Admission, metrics: EngineMetrics,
        clock: any Clock<Duration>, wallClock: WallClock, logger: Logger, echo: EchoStage?, queue: WorkQueue<Item>,
        output: WorkQueue<CommitStage.Work>
    ) {
        sealer = ReplySealer(identity: identity)
        self.transport = transport
        self.admission = admission
        self.metrics = metrics
        self.clock = clock
        self.wallClock = wallClock
        self.logger = logger
        self.echo = echo
        self.queue = queue
        self.output = output
    }

    /// Returns when the queue is finished; what then still waits for a retry goes out at the next start.
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
        await withDiscardingTaskGroup { retries in
            while let batch = await queue.next(maximumCount: Self.batchCount) {
                var marks: [CommitStage.Work] = []
                for item in batch {
                    if let mark = await publish(item, using: &random, retries: &retries) { marks.append(mark) }
                }
                output.send(marks)
            }
            retries.cancelAll()
        }
    }

    /// - Returns: what is to be written down about it.
    private func publish(
        _ item: Item, using random: inout SecureRandom, retries: inout DiscardingTaskGroup
    ) async -> CommitStage.Work? {
        var item = item
        do {
            var envelopes = try item.envelopes ?? sealer.seal(item.reply, at: wallClock.now(), using: &random)
            item.envelopes = envelopes
            while let envelope = envelopes.first {
                try await transport.publish(envelope)
                envelopes.removeFirst()
                item.envelopes = envelopes
            }
            metrics.repliesPublished.increment()
            echo?.add(item.reply)
            if item.reply.mark != .nothing { return .published(ids: [item.reply.id] + item.reply.segments, item.reply.mark) }
            admission.leave()
            return nil
        } catch {
            metrics.replyFailures.increment()
            if case TransportError.outdated = error { item.envelopes = nil }  // no archive would keep it: sealed anew next time
            if case TransportError.refused(400..<500, _) = error { item.refusalCount += 1 }
            item.attemptCount += 1
            guard item.refusalCount < Self.maximumRefusalCount else {
                logger.error("the node refuses a reply; it waits for the next start", metadata: ["error": "\(error)"])
                admission.leave()
                return nil
            }
            let delay = min(Self.longestBackOff, .seconds(1) * (1 << min(item.attemptCount - 1, 5)))
            let clock = self.clock
            let queue = self.queue
            retries.addTask { [item] in
                try? await clock.sleep(for: delay)
                queue.send(item)
            }
            return nil
        }
    }
}
