import Bytes
import CoreMetrics
import Envelope
import StatusCrypto
import Store
import Synchronization
import Tasks
import Transport
import Wire

/// Decrypts admitted messages and hands them to the commit stage.
///
/// A message on a query topic whose key is not derived yet waits in the journal without delaying other messages.
final class OpenStage: Sendable {
    /// The number of messages that a worker takes together, few enough to keep all cores busy until a burst ends.
    private static let batchCount = 4

    /// The result of opening a message.
    private enum Verdict {
        case decide(OpenedEnvelope)
        /// The message waits in the journal until the topic's key is derived.
        case wait(TopicKeyQueue.Topic)
        /// The segment waits in the journal until its message is complete. A restart re-reads it.
        case waitForSegments
        /// Another server assembles the message with that hash from its segments.
        case pass(Digest32)
        /// The topic's keys are not in memory. The message returns to the journal, and its re-read loads them.
        case readAgain
    }

    private let opener: Opener
    private let keys: TopicKeys
    private let directory: TopicDirectory
    private let admission: Admission
    private let commit: CommitStage
    private let context: EngineContext
    private let segments = Mutex(SegmentAssembler())
    private let arrivals = Mutex(LateArrivals())

    init(
        opener: Opener, keys: TopicKeys, directory: TopicDirectory, context: EngineContext, from admission: Admission,
        to commit: CommitStage
    ) {
        self.opener = opener
        self.keys = keys
        self.directory = directory
        self.context = context
        self.admission = admission
        self.commit = commit
    }

    /// Returns when the admission is finished.
    func run(workerCount: Int) async {
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask { await self.openAdmitted() }
            }
        }
    }

    @concurrent
    private func openAdmitted() async {
        while let batch = await admission.next(maximumCount: Self.batchCount) {
            var opened: [CommitStage.Work] = []
            var results: [(topic: String, isJunk: Bool)] = []
            for (message, permit) in batch {
                switch open(message) {
                case .decide(let envelope):
                    noteArrival(of: envelope, in: message)
                    opened.append(.decide(envelope, permit))
                    if !message.addressees.isIdentity { results.append((message.envelope.message.contentTopic, envelope.isJunk)) }
                case .wait(let topic):
                    let displacedCount = admission.update { $0.addRow(message.id, waitingFor: topic) }
                    context.metrics.topicKeyOverflows.increment(by: displacedCount)
                case .pass(let hash): await pass(message.id, ofMessage: hash)
                case .readAgain: context.giveBack([message.id])
                case .waitForSegments: break
                }
            }
            admission.update { [results] in $0.recordResults(results) }
            commit.send(opened)
        }
    }

    private func open(_ message: RecordedMessage) -> Verdict {
        if message.addressees.isIdentity, let frame = opener.frameForIdentity(message) { return assemble(frame, of: message) }
        guard let candidates = keys.candidates(of: message.addressees.subscribers) else { return .readAgain }
        for key in candidates.keys {
            if let frame = opener.frame(message, topicKey: key) { return assemble(frame, of: message) }
        }
        return candidates.missing.map { .wait($0) } ?? .decide(.dropped(message.id))
    }

    // MARK: Late arrivals

    /// Whether most messages of registered senders arrive late.
    var areArrivalsLate: Bool { arrivals.withLock(\.areLate) }

    /// Tells that messages were not accepted. When they come again, they are older.
    func receptionFailed() { arrivals.withLock { $0.restart() } }

    private func noteArrival(of envelope: OpenedEnvelope, in message: RecordedMessage) {
        guard case .message(_, let origin) = envelope.content, message.origin == .live, !message.isReadAgain,
            let sent = message.envelope.message.timestamp
        else { return }
        let sender = origin.sender.hash
        guard directory.wants(TopicName.query(sender, .plain).topic) else { return }
        let age = Timestamp(nanoseconds: sent).duration(to: message.receivedAt)
        arrivals.withLock { [now = context.time.elapsed()] in $0.arrived(from: sender, age: age, at: now) }
    }

    // MARK: Segments

    /// Interprets a frame, which is a message or a segment (PROTOCOL.md §5.1).
    private func assemble(_ frame: RFC26.Frame, of message: RecordedMessage) -> Verdict {
        guard SegmentMessage.isSegment(frame.data) else { return .decide(opener.interpret(frame.data, of: message)) }
        if let cluster = context.store.cluster, let segment = try? SegmentMessage.decode(frame.data),
            let hash = Digest32(segment.entireMessageHash), !cluster.assembles(hash)
        {
            return .pass(hash)
        }
        let signer = frame.signer()
        let result = segments.withLock {
            $0.add(frame.data, id: message.id, signer: signer, now: message.receivedAt, isAgain: message.isReadAgain)
        }
        switch result {
        case .notASegment:
            return .decide(opener.interpret(frame.data, of: message))
        case .incomplete(let evicted):
            drop(evicted)
            return .waitForSegments
        case .complete(let whole, let ids):
            var opened = opener.interpret(whole, of: message)
            opened.segments = ids.filter { $0 != message.id }
            return .decide(opened)
        case .duplicate, .late:
            return .decide(.dropped(message.id, .notForUs))
        case .invalid(_, let ids):
            drop(ids.filter { $0 != message.id })
            return .decide(.dropped(message.id))
        }
    }

    /// Passes a segment to the server that assembles its message. If the database is unreachable, the segment is read again later.
    private func pass(_ row: Int64, ofMessage hash: Digest32) async {
        do {
            try await context.store.cluster?.pass([row], ofMessage: hash)
        } catch {
            context.giveBack([row])
        }
    }

    /// Reads the waiting segments again, because other servers may assemble their messages now.
    func reviewSegments() {
        context.giveBack(segments.withLock { $0.removeAll() })
    }

    /// Drops segments that have waited too long for their message to be complete.
    func expireSegments(at now: Timestamp) {
        drop(segments.withLock { $0.expire(now: now) })
    }

    private func drop(_ rows: [Int64]) {
        commit.send(rows.map { .decide(.dropped($0), admission.permitRow()) })
    }
}
