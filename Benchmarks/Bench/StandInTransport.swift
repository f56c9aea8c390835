import Engine
import Envelope
import StatusCrypto
import Synchronization
import TestSupport
import Transport
import Wire

/// The cheapest transport that is still honest: hands prepared envelopes over in batches, several calls at once, and takes replies in.
///
/// It returns from `run` when every message has its reply, so that the engine then drains: the time from the first hand-over to the end
/// of the engine's `run` is that of the whole work, the last durable mark included.
final class StandInTransport: MessageTransport {
    /// A transport polls or serves some connections: what a poll of a busy node brings, from so many sources.
    private static let batchCount = 100
    private static let callCount = 4

    private let workload: Workload
    private let replies: ReplyBox
    private let start = Mutex<(time: ContinuousClock.Instant, processorSeconds: Double)?>(nil)
    /// The first envelope that nobody has handed over.
    private let next = Atomic<Int>(0)

    /// - Parameter replies: The replies of all servers that get the messages; nil for a single server.
    init(_ workload: Workload, replies: ReplyBox? = nil) {
        self.workload = workload
        self.replies = replies ?? ReplyBox(to: workload)
    }

    func run(receiver: any EnvelopeReceiver) async throws {
        start.withLock { $0 = (.now, Timing.processorSeconds) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<Self.callCount {
                group.addTask {
                    while true {
                        let start = self.next.add(Self.batchCount, ordering: .relaxed).oldValue
                        guard start < self.workload.envelopes.count else { return }
                        let end = min(start + Self.batchCount, self.workload.envelopes.count)
                        try await receiver.receiveWithPatience(Array(self.workload.envelopes[start..<end]))
                    }
                }
            }
            try await group.waitForAll()
        }
        await replies.waitForAll()
    }

    func publish(_ envelope: WakuEnvelope) async throws { replies.add(envelope) }

    var healthIssues: [String] { [] }

    /// Since the first hand-over.
    var elapsedSeconds: Double {
        start.withLock { $0.map { (ContinuousClock.now - $0.time).seconds } } ?? .nan
    }

    /// The same of the process's processor time.
    var elapsedProcessorSeconds: Double {
        start.withLock { $0.map { Timing.processorSeconds - $0.processorSeconds } } ?? .nan
    }

    /// Opens the replies that were kept.
    ///
    /// - Throws: `WrongReply` unless each is the server's answer to one of the senders, and says yes.
    func check() throws {
        let numbers = workload.numbersByReplyTopic
        for reply in replies.kept {
            let candidates = numbers[reply.envelope.message.contentTopic] ?? []
            guard candidates.contains(where: { workload.isSuccess(reply.envelope, to: $0) }) else { throw WrongReply() }
        }
    }
}

extension EnvelopeReceiver {
    /// Hands envelopes over as soon as there is room for them.
    func receiveWithPatience(_ envelopes: [WakuEnvelope]) async throws {
        while true {
            do {
                return try await receive(envelopes, origin: .live)
            } catch let overload as Overload {
                guard let engine = self as? Engine else { throw overload }
                await engine.waitForCapacity()
                try Task.checkCancellation()
            }
        }
    }
}

/// The engine answered something else than success: what was measured was not the work.
package struct WrongReply: Error {}

/// Counts replies and keeps some, with the moment they came.
final class ReplyBox: Sendable {
    struct Reply: Sendable {
        var envelope: WakuEnvelope
        var time: ContinuousClock.Instant
    }

    private struct State {
        var count = 0
        var kept: [Reply] = []
    }

    private let expectedCount: Int
    private let keepsEach: Int
    private let state = Mutex(State())
    /// Apart from the count: a condition asks whoever waits for it at each change.
    private let isComplete: Condition<Bool>

    /// Expects a reply to each message of a workload.
    convenience init(to workload: Workload) { self.init(expectedCount: workload.envelopes.count, keepsEach: 101) }

    init(expectedCount: Int, keepsEach: Int) {
        self.expectedCount = expectedCount
        self.keepsEach = keepsEach
        isComplete = Condition(expectedCount == 0)
    }

    func add(_ envelope: WakuEnvelope) {
        let time = ContinuousClock.now
        let isLast = state.withLock { state in
            state.count += 1
            if state.count.isMultiple(of: keepsEach) { state.kept.append(Reply(envelope: envelope, time: time)) }
            return state.count == expectedCount
        }
        if isLast { isComplete.change { $0 = true } }
    }

    var kept: [Reply] { state.withLock(\.kept) }

    func waitForAll() async {
        await isComplete.wait { $0 }
    }
}

extension MessageKind {
    /// Whether the envelope is the server's reply to that sender, signed inside and out, and grants what was asked for.
    func isSuccess(_ envelope: WakuEnvelope, to sender: PrivateKey) -> Bool {
        let server = BenchmarkOwners.server.publicKey
        guard let frame = try? RFC26.openAsymmetric(envelope.message.payload, with: sender), frame.signer() == server,
            let message = try? ApplicationMetadata.open(frame.data), message.sender == server
        else { return false }
        switch self {
        case .registration:
            return (try? PushNotificationRegistrationResponse.decode(message.payload))?.success == true
        case .query, .storedQuery, .directQuery:
            return (try? PushNotificationQueryResponse.decode(message.payload))?.info.count == 1
        case .push:
            return (try? PushNotificationResponse.decode(message.payload))?.reports.map(\.success) == [true]
        }
    }
}
