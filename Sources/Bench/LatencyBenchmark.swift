import Envelope
import Foundation
import StatusCrypto
import Synchronization
import Transport
import Wire

/// How long a message takes while the server is half busy.
package enum LatencyBenchmark {
    private static let ownerCount = 20_000

    /// First the peak of each kind, then the same messages at half its rate.
    package static func measure(_ options: Options) async throws -> Report {
        var report = Report("latency")
        let gorush = try await GorushProcess(directory: options.directory)
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        for kind in [MessageKind.registration, .query, .push] {
            options.progress.say("latency: preparing \(options.messageCount) times \(kind.rawValue)")
            let workload = Workload(kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
            let gorushURL = kind == .push ? gorush.url : nil
            var replySamples: [Sample] = []
            var pushSamples: [Sample] = []
            var peaks: [Double] = []
            for run in 0..<options.runCount {
                let peak = try await EngineRun(path: seed.copy(), workerCount: options.threadCount, gorushURL: gorushURL)
                    .measure(workload).rate
                peaks.append(peak)
                options.progress.say("latency: \(kind.rawValue), run \(run + 1) of \(options.runCount) at \(Report.text(peak / 2))/s")
                let earlierCount = gorush.notificationCount
                let transport = PacedTransport(workload, rate: peak / 2)
                _ = try await EngineRun(path: seed.copy(), workerCount: options.threadCount, gorushURL: gorushURL)
                    .run(transport, messageCount: workload.envelopes.count) { (.nan, .nan) }
                replySamples.append(try transport.replyLatencies(threadCount: options.threadCount))
                if kind == .push {
                    let arrivals = await gorush.arrivals(workload.envelopes.count, afterNotifications: earlierCount)
                    pushSamples.append(transport.pushLatencies(arrivals, owners: seed.askedOwnerCount))
                }
            }
            report.add("\(kind.rawValue), peak", peaks, unit: "/s")
            add(replySamples, of: "\(kind.rawValue) to reply", to: &report)
            if kind == .push { add(pushSamples, of: "push to gorush", to: &report) }
        }
        return report
    }

    private static func add(_ samples: [Sample], of name: String, to report: inout Report) {
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("maximum", 1)] {
            report.add(
                "\(name), \(label)", samples.map { $0.quantile(share) }, unit: "ms", mark: label == "p99" ? .atMost(20) : nil)
        }
    }
}

/// Hands each envelope over at its time, whether or not earlier ones are done: a server that stalls does not slow its clients down.
/// Latencies count from the time when the envelope was due.
final class PacedTransport: MessageTransport {
    /// What a network brings in so long comes in one call.
    private static let tick = Duration.milliseconds(2)

    private let workload: Workload
    private let interval: Duration
    private let replies: ReplyBox
    private let start = Mutex(ContinuousClock.now)

    init(_ workload: Workload, rate: Double) {
        self.workload = workload
        interval = .nanoseconds(Int64(1e9 / rate))
        replies = ReplyBox(expectedCount: workload.envelopes.count, keepsEach: 1)
    }

    func run(receiver: any EnvelopeReceiver) async throws {
        let start = ContinuousClock.now
        self.start.withLock { $0 = start }
        try await withThrowingTaskGroup(of: Void.self) { group in
            var next = 0
            while next < workload.envelopes.count {
                let due = min(workload.envelopes.count, Int((ContinuousClock.now - start) / interval) + 1)
                if due > next {
                    let batch = Array(workload.envelopes[next..<due])
                    group.addTask { try await receiver.receiveWithPatience(batch) }
                    next = due
                }
                try await Task.sleep(for: Self.tick)
            }
            try await group.waitForAll()
        }
        await replies.waitForAll()
    }

    func publish(_ envelope: WakuEnvelope) async throws { replies.add(envelope) }

    var troubles: [String] { [] }

    /// Milliseconds to the published reply, of each message. Opens every reply to see whom it is for.
    ///
    /// - Throws: `WrongReply` when one is not the answer to any of the messages.
    func replyLatencies(threadCount: Int) throws -> Sample {
        let start = start.withLock { $0 }
        let kept = replies.kept
        let senders = Dictionary(grouping: workload.senders.indices) {
            TopicName.partitioned(workload.senders[$0].publicKey).topic.contentTopic
        }
        let latencies = Timing.map(0..<kept.count, threadCount: threadCount) { index -> Double? in
            let reply = kept[index]
            let number = senders[reply.envelope.message.contentTopic]?
                .first { self.workload.kind.isSuccess(reply.envelope, to: self.workload.senders[$0]) }
            return number.map { (reply.time - start - self.interval * $0).seconds * 1_000 }
        }
        guard !latencies.contains(nil) else { throw WrongReply() }
        return Sample(latencies.compactMap(\.self))
    }

    /// Milliseconds to the arrival at gorush, of each push. Of an owner's several pushes the first to arrive is taken for the first sent.
    func pushLatencies(_ arrivals: [GorushProcess.Arrival], owners: Int) -> Sample {
        let start = start.withLock { $0 }
        var numbers: [String: [Int]] = [:]
        for number in workload.envelopes.indices.reversed() {
            numbers[Owner(number: number % owners).deviceToken, default: []].append(number)
        }
        return Sample(
            arrivals.compactMap { arrival in
                numbers[arrival.token]?.popLast().map { (arrival.time - start - interval * $0).seconds * 1_000 }
            })
    }
}
