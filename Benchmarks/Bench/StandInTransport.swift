import Engine
import Envelope
import StatusCrypto
import Synchronization
import TestSupport
import Transport
import Wire

/// The cheapest transport that does the whole work. The transport hands prepared envelopes over in batches, with several concurrent calls,
/// and accepts replies.
///
/// The method `run` returns when every message has its reply, so that the engine then drains. The time from the first hand-over to the end
/// of the engine's `run` covers the whole work, including the last durable publication mark.
final class StandInTransport: MessageTransport {
    /// The batch size and the number of concurrent calls: like polls of a busy node, from several sources. A transport polls or serves some
    /// connections.
    private static let batchCount = 100
    private static let callCount = 4

    private let workload: Workload
    private let replies: ReplyBox
    private let start = Mutex<(time: ContinuousClock.Instant, processorSeconds: Double)?>(nil)
    /// The index of the first envelope that no call has handed over.
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

    /// The seconds since the first hand-over.
    var elapsedSeconds: Double {
        start.withLock { $0.map { (ContinuousClock.now - $0.time).seconds } } ?? .nan
    }

    /// The processor seconds of the process since the first hand-over.
    var elapsedProcessorSeconds: Double {
        start.withLock { $0.map { Timing.processorSeconds - $0.processorSeconds } } ?? .nan
    }

    /// Opens the replies that were kept.
    ///
    /// - Throws: `WrongReply` unless each is the server's successful response to one of the senders.
    func check() throws {
        let numbers = workload.numbersByReplyTopic
        for reply in replies.kept {
            let candidates = numbers[reply.envelope.message.contentTopic] ?? []
            guard candidates.contains(where: { workload.isSuccess(reply.envelope, to: $0) }) else { throw WrongReply() }
        }
    }
}

extension EnvelopeReceiver {
    /// Hands envelopes over as soon as the intake has capacity.
    func receiveWithPatience(_ envelopes: [WakuEnvelope]) async throws {
        while true {
            do {
                return try await receive(envelopes, origin: .live)
            } catch let overload as Overload {
                guard let intake = self as? Intake else { throw overload }
                await intake.waitForCapacity()
                try Task.checkCancellation()
            }
        }
    }
}

/// A reply of the engine that reports a failure. The figures would not be those of the intended work.
package struct WrongReply: Error {}

/// A counter of replies that keeps some of them, with their times.
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
    /// The completion, separate from the count: a condition checks its waiters at each change.
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
    /// Returns whether the envelope is the server's reply to that sender, signed inside and out, and grants the request.
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
