import Bytes
import Envelope
import Foundation
import Synchronization
import Transport
import Wire

/// A transport that hands each envelope over at its time, whether or not earlier ones are done. A stalled server does not slow its clients
/// down. Latencies count from the time when the envelope was due.
final class PacedTransport: MessageTransport {
    /// The interval between calls. Each call hands over all envelopes that became due in the interval.
    private static let tick = Duration.milliseconds(2)

    private let workload: Workload
    private let interval: Duration
    private let strangers: [WakuEnvelope]
    private let strangersAtOnce: [WakuEnvelope]
    private let patience: Duration
    private let replyTopics: [String: [Int]]
    private let replies: ReplyBox
    private let start = Mutex(ContinuousClock.now)

    /// Creates a transport.
    ///
    /// - Parameters:
    ///   - rate: The workload's messages a second.
    ///   - strangers: Messages of attackers, evenly distributed. The transport ignores their replies.
    ///   - strangersAtOnce: Messages of attackers, handed over in one call before all other messages.
    ///   - patience: The maximum wait for replies after the last message.
    init(
        _ workload: Workload, rate: Double, strangers: [WakuEnvelope] = [], strangersAtOnce: [WakuEnvelope] = [],
        patience: Duration = .seconds(600)
    ) {
        self.workload = workload
        interval = .nanoseconds(Int64(1e9 / rate))
        self.strangers = strangers
        self.strangersAtOnce = strangersAtOnce
        self.patience = patience
        replyTopics = workload.numbersByReplyTopic
        replies = ReplyBox(expectedCount: workload.envelopes.count, keepsEach: 1)
    }

    func run(receiver: any EnvelopeReceiver) async throws {
        if !strangersAtOnce.isEmpty { try await receiver.receiveWithPatience(strangersAtOnce) }
        let start = ContinuousClock.now
        self.start.withLock { $0 = start }
        let strangersInterval = interval * workload.envelopes.count / max(1, strangers.count)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await Self.send(self.workload.envelopes, each: self.interval, from: start, to: receiver) }
            group.addTask { try await Self.send(self.strangers, each: strangersInterval, from: start, to: receiver) }
            try await group.waitForAll()
        }
        await withTaskGroup { group in
            group.addTask { await self.replies.waitForAll() }
            group.addTask { try? await Task.sleep(for: self.patience) }
            await group.next()
            group.cancelAll()
        }
    }

    private static func send(
        _ envelopes: [WakuEnvelope], each interval: Duration, from start: ContinuousClock.Instant, to receiver: any EnvelopeReceiver
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            var next = 0
            while next < envelopes.count {
                let due = min(envelopes.count, Int((ContinuousClock.now - start) / interval) + 1)
                if due > next {
                    let batch = Array(envelopes[next..<due])
                    group.addTask { try await receiver.receiveWithPatience(batch) }
                    next = due
                }
                try await Task.sleep(for: tick)
            }
            try await group.waitForAll()
        }
    }

    func publish(_ envelope: WakuEnvelope) async throws {
        if replyTopics[envelope.message.contentTopic] != nil { replies.add(envelope) }
    }

    var healthIssues: [String] { [] }

    /// Returns the milliseconds from each message to its published reply. The function opens every reply to find its recipient.
    func replyLatencies(threadCount: Int) throws -> Sample {
        let start = start.withLock { $0 }
        let kept = replies.kept
        let latencies = Timing.map(0..<kept.count, threadCount: threadCount) { index -> Double? in
            let reply = kept[index]
            let number = self.replyTopics[reply.envelope.message.contentTopic]?
                .first { self.workload.isSuccess(reply.envelope, to: $0) }
            return number.map { (reply.time - start - self.interval * $0).seconds * 1_000 }
        }
        guard !latencies.contains(nil) else { throw WrongReply() }
        return Sample(latencies.compactMap(\.self))
    }

    /// Returns the milliseconds from each message to its push's arrival at gorush. The first arrival among an owner's pushes counts for the
    /// first message.
    func pushLatencies(_ arrivals: [GorushProcess.Arrival], owners: Int) -> Sample {
        let start = start.withLock { $0 }
        var numbers: [String: [Int]] = [:]
        for number in workload.envelopes.indices.reversed() where workload.kind(of: number) == .push {
            numbers[Owner(number: number % owners).deviceToken.text, default: []].append(number)
        }
        return Sample(
            arrivals.compactMap { arrival in
                numbers[arrival.token]?.popLast().map { (arrival.time - start - interval * $0).seconds * 1_000 }
            })
    }
}
