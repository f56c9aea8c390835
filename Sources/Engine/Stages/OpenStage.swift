import CoreMetrics
import Envelope
import Logging
import StatusCrypto
import Store
import Synchronization
import Wire

/// Decrypts what was recorded, on as many workers as there are cores.
///
/// A message on a query topic whose key is not derived yet goes to a lane of its own, where the 13 ms derivations are done one after
/// another; nobody else waits for them.
final class OpenStage: Sendable {
    /// Messages a worker takes at once: enough to save on hand-overs, few enough to keep both cores busy to the end of a burst.
    private static let batchCount = 16
    /// Messages that may wait for a topic's key: at 13 ms each, more than that would be answered too late to be of use.
    private static let maximumLaneCount = 1_000
    /// Until a message is tried again that needs what could not be read.
    private static let retryInterval = Duration.seconds(1)

    private struct Keyless: Sendable {
        var message: RecordedMessage
        /// Topics whose key has yet to be derived.
        var candidates: [TopicKeys.Identifier]
    }

    private let opener: Opener
    private let keys: TopicKeys
    private let admission: Admission
    private let metrics: EngineMetrics
    private let clock: any Clock<Duration>
    private let logger: Logger
    private let queue: WorkQueue<RecordedMessage>
    private let output: WorkQueue<CommitStage.Work>

    private let segments = Mutex(SegmentAssembler())
    private let lane = WorkQueue<Keyless>()
    /// Messages that wait for the store to be readable again.
    private let unread = WorkQueue<RecordedMessage>()
    private let laneAdmission = Admission(maximumCount: OpenStage.maximumLaneCount)
    private let isLaneClosed = Atomic<Bool>(false)

    /// - Parameter queue: messages that were admitted.
    init(
        identity: PrivateKey, keys: TopicKeys, admission: Admission, metrics: EngineMetrics,
        clock: any Clock<Duration>, logger: Logger, queue: WorkQueue<RecordedMessage>, output: WorkQueue<CommitStage.Work>
    ) {
        opener = Opener(identity: identity)
        self.keys = keys
        self.admission = admission
        self.metrics = metrics
        self.clock = clock
        self.logger = logger
        self.queue = queue
        self.output = output
    }

    /// Returns when the queue is finished; what then still waits for a key is worked off at the next start.
    func run(workerCount: Int) async {
        await withTaskGroup(of: Void.self) { lane in
            lane.addTask { await self.openKeyless() }
            lane.addTask { await self.retryUnread() }
            await withTaskGroup(of: Void.self) { workers in
                for _ in 0..<workerCount {
                    workers.addTask { await self.openRecorded() }
                }
            }
            self.lane.finish()
            self.unread.finish()
            lane.cancelAll()
        }
    }

    /// Reads the keys that these messages need and that are not in memory yet: while they are being recorded, which takes longer.
    func prepareKeys(for addressees: [TopicDirectory.Addressees]) async {
        await keys.load(addressees.flatMap(\.subscribers))
    }

    @concurrent
    private func openRecorded() async {
        while let batch = await queue.next(maximumCount: Self.batchCount) {
            output.send(await open(batch).map { .message($0) })
        }
    }

    /// - Returns: without those that went to the lane, or wait for other segments or for the store.
    private func open(_ batch: [RecordedMessage]) async -> [OpenedEnvelope] {
        let subscribers = batch.flatMap(\.addressees.subscribers)
        do {
            let entries = subscribers.isEmpty ? [:] : try await keys.entries(for: subscribers)
            return batch.compactMap { open($0, entries: entries) }
        } catch {
            let waiting = batch.filter { !$0.addressees.subscribers.isEmpty }
            logger.error("reading the store failed; messages wait", metadata: ["messages": "\(waiting.count)", "error": "\(error)"])
            unread.send(waiting)
            return batch.filter(\.addressees.subscribers.isEmpty).compactMap { open($0, entries: [:]) }
        }
    }

    private func open(_ message: RecordedMessage, entries: [TopicTable.Subscriber: TopicKeys.Entry]) -> OpenedEnvelope? {
        if message.addressees.isIdentity, let frame = opener.frameForIdentity(message) { return assemble(frame, of: message) }
        var keyless: [TopicKeys.Identifier] = []
        for subscriber in message.addressees.subscribers {
            switch entries[subscriber] {
            case .known(let key):
                if let frame = opener.frame(message, topicKey: key) { return assemble(frame, of: message) }
            case .notDerived(let candidate):
                if !keyless.contains(where: candidate.isSameTopic) { keyless.append(candidate) }
            case nil:
                break  // its owner is gone
            }
        }
        guard !keyless.isEmpty else { return .dropped(message.id) }
        return enterLane(Keyless(message: message, candidates: keyless))
    }

    /// A message in the lane is not counted as under way, or a flood of junk would fill the room of everybody.
    private func enterLane(_ keyless: Keyless) -> OpenedEnvelope? {
        guard laneAdmission.count < Self.maximumLaneCount else {
            metrics.laneOverflows.increment()
            return .dropped(keyless.message.id)
        }
        laneAdmission.enterAtOnce(1)
        admission.leave()
        lane.send(keyless)
        return nil
    }

    /// What waits for a key stays recorded and is worked off at the next start: a flood of junk must not hold up a shutdown.
    func closeLane() {
        isLaneClosed.store(true, ordering: .relaxed)
    }

    @concurrent
    private func openKeyless() async {
        while let batch = await lane.next(maximumCount: 1), !isLaneClosed.load(ordering: .relaxed) {
            for keyless in batch {
                laneAdmission.leave()
                admission.enterAtOnce(1)
                if let opened = await open(keyless) { output.send(.message(opened)) }
            }
        }
    }

    private func open(_ keyless: Keyless) async -> OpenedEnvelope? {
        do {
            for candidate in keyless.candidates {
                let key = try await keys.derive(candidate)
                if let frame = opener.frame(keyless.message, topicKey: key) { return assemble(frame, of: keyless.message) }
            }
            return .dropped(keyless.message.id)
        } catch {
            logger.error("reading the store failed; a message waits", metadata: ["error": "\(error)"])
            unread.send(keyless.message)
            return nil
        }
    }

    // MARK: Segments

    /// A frame is a message, or a segment of one (PROTOCOL.md §5.1).
    ///
    /// A segment that waits for others is not under way any more: it stays recorded, and is added again after a restart.
    private func assemble(_ frame: RFC26.Frame, of message: RecordedMessage) -> OpenedEnvelope? {
        guard SegmentMessage.isSegment(frame.data) else { return opener.interpret(frame.data, of: message) }
        let signer = frame.signer()
        switch segments.withLock({ $0.add(frame.data, id: message.id, signer: signer, now: message.receivedAt) }) {
        case .notASegment:
            return opener.interpret(frame.data, of: message)
        case .incomplete(let evicted):
            giveUp(evicted)
            admission.leave()
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
        admission.enterAtOnce(ids.count)
        output.send(ids.map { .message(.dropped($0)) })
    }

    // MARK: Store trouble

    /// What could not be looked up is recorded and stays under way.
    private func retryUnread() async {
        while let batch = await unread.next(maximumCount: .max) {
            guard (try? await clock.sleep(for: Self.retryInterval)) != nil else { return }
            queue.send(batch)
        }
    }
}
