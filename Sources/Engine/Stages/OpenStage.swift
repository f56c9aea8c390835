import Concurrency
import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Store
import Synchronization
import Wire

/// Decrypts what was recorded, on as many workers as there are cores.
///
/// A message on a query topic whose key is not derived yet waits in the journal, while the 13 ms derivations are done one after another in
/// a lane of their own; nobody else waits for them.
final class OpenStage: Sendable {
    /// Messages a worker takes at once: few enough to keep all cores busy to the end of a burst.
    private static let batchCount = 4
    private let opener: Opener
    private let keys: TopicKeys
    private let intake: Intake
    private let backlog: Backlog
    private let metrics: EngineMetrics
    private let logger: Logger
    private let queue: OpeningQueue
    private let output: BatchQueue<CommitStage.Work>
    /// Hears of registrations; nil when replies are said once.
    private let echo: EchoStage?

    private let segments = Mutex(SegmentAssembler())
    private let lane = Monitor(TopicKeyLane())

    /// - Parameters:
    ///   - intake: which the messages of the queue have entered.
    ///   - backlog: of messages that have to be read again.
    init(
        identity: PrivateKey, keys: TopicKeys, intake: Intake, backlog: Backlog, metrics: EngineMetrics,
        logger: Logger, echo: EchoStage?, queue: OpeningQueue, output: BatchQueue<CommitStage.Work>
    ) {
        opener = Opener(identity: identity)
        self.keys = keys
        self.intake = intake
        self.backlog = backlog
        self.metrics = metrics
        self.logger = logger
        self.echo = echo
        self.queue = queue
        self.output = output
    }

    /// Returns when the queue is finished.
    func run(workerCount: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { await self.openRecorded() }
            }
        }
    }

    @concurrent
    private func openRecorded() async {
        while let batch = await queue.next(maximumCount: Self.batchCount) {
            let opened = batch.map { open($0) }
            queue.note(
                zip(batch, opened).compactMap { message, opened in
                    opened.map { (message.envelope.message.contentTopic, $0.isJunk) }
                })
            send(opened.compactMap(\.self))
        }
    }

    private func send(_ opened: [OpenedEnvelope]) {
        if let echo {
            for opened in opened {
                guard case .message(.registration, let origin) = opened.content else { continue }
                echo.registrationArrived(from: origin.sender, row: opened.id)
            }
        }
        output.send(opened.map { .message($0) })
    }

    /// - Returns: nil if the message goes to the lane, or waits for other segments or for the store.
    private func open(_ message: RecordedMessage) -> OpenedEnvelope? {
        if message.addressees.isIdentity, let frame = opener.frameForIdentity(message) { return assemble(frame, of: message) }
        var withoutKey: TopicKeyLane.Topic?
        for subscriber in message.addressees.subscribers {
            switch keys[subscriber] {
            case .known(let key):
                if let frame = opener.frame(message, topicKey: key) { return assemble(frame, of: message) }
            case .notDerived(let keyHash):
                // One after the other: when it is opened again, it may be the next one's.
                withoutKey = withoutKey ?? TopicKeyLane.Topic(subscriber: subscriber, keyHash: keyHash)
            case .ownerless:
                break
            case nil:
                // What could not be looked up is read again with its keys.
                backlog.add([message.id])
                intake.leave([message.id])
                return nil
            }
        }
        guard let withoutKey else { return .dropped(message.id) }
        // It is not counted as under way, or a flood of junk would fill the room of everybody, and hold up a shutdown.
        metrics.laneOverflows.increment(by: lane.update { $0.add(message.id, waitingFor: withoutKey) })
        intake.leave([message.id])
        return nil
    }

    // MARK: Lane

    /// Derives keys, and has read again what waits for them, until cancelled. What then waits is recorded, and worked off at the next
    /// start.
    @concurrent
    func runLane() async {
        while !Task.isCancelled, let topic = await lane.wait(for: { $0.next }) {
            do {
                try await keys.derive(topic.subscriber, ownedBy: topic.keyHash)
            } catch {
                guard !Task.isCancelled else { return }
                logger.error("the key of a topic could not be saved; it will be derived again", metadata: ["error": "\(error)"])
            }
            backlog.add(lane.update { $0.take(topic) })
        }
    }

    // MARK: Segments

    /// A frame is a message, or a segment of one (PROTOCOL.md §5.1).
    ///
    /// A segment that waits for others is not under way any more: it stays recorded, and is added again after a restart.
    private func assemble(_ frame: RFC26.Frame, of message: RecordedMessage) -> OpenedEnvelope? {
        guard SegmentMessage.isSegment(frame.data) else { return opener.interpret(frame.data, of: message) }
        let signer = frame.signer()
        let result = segments.withLock {
            $0.add(frame.data, id: message.id, signer: signer, now: message.receivedAt, isAgain: message.isReadAgain)
        }
        switch result {
        case .notASegment:
            return opener.interpret(frame.data, of: message)
        case .incomplete(let evicted):
            giveUp(evicted)
            intake.leave([message.id])
            return nil
        case .complete(let whole, let ids):
            var opened = opener.interpret(whole, of: message)
            opened.segments = ids.filter { $0 != message.id }
            return opened
        case .duplicate, .late:
            return .dropped(message.id, .notForUs)
        case .invalid(_, let ids):
            giveUp(ids.filter { $0 != message.id })
            return .dropped(message.id)
        }
    }

    /// Drops what has waited too long for its other segments.
    func expireSegments(at now: Timestamp) {
        giveUp(segments.withLock { $0.expire(now: now) })
    }

    private func giveUp(_ ids: [Int64]) {
        guard !ids.isEmpty else { return }
        intake.enter(rows: ids)
        output.send(ids.map { .message(.dropped($0)) })
    }
}
