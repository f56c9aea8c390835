import Bytes
import Envelope
import Foundation
import Synchronization
import Transport
import Wire

/// The latency of messages at a steady rate.
package enum LatencyBenchmark {
    private static let ownerCount = 20_000

    /// Measures the peak of each kind, and then the latency of the same messages.
    ///
    /// - Parameter rate: The messages a second; nil means half of the peak.
    package static func measure(_ options: Options, rate: Double?) async throws -> Report {
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
                let rate = rate ?? peak / 2
                options.progress.say("latency: \(kind.rawValue), run \(run + 1) of \(options.runCount) at \(Report.text(rate))/s")
                let earlierCount = gorush.notificationCount
                let transport = PacedTransport(workload, rate: rate)
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
        for hasIdleCores in [true, false] {
            let samples = try await FirstQueries.measure(hasIdleCores: hasIdleCores, options)
            let name = "\(FirstQueries.count) first queries at once\(hasIdleCores ? "" : ", busy cores")"
            report.add("\(name), rate", samples.map { Double(FirstQueries.count) / $0.quantile(1) * 1_000 }, unit: "/s")
            report.add("\(name), p99", samples.map { $0.quantile(0.99) }, unit: "ms", goal: .atMost(3_000))
        }
        return report
    }

    private static func add(_ samples: [Sample], of name: String, to report: inout Report) {
        for (label, share) in [("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("maximum", 1)] {
            report.add(
                "\(name), \(label)", samples.map { $0.quantile(share) }, unit: "ms", goal: label == "p99" ? .atMost(20) : nil)
        }
    }
}
