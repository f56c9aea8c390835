import Engine
import Envelope
import StatusCrypto
import Store
import TestSupport

/// The decisions on the content topics of a shard for a million clients. Nearly all of its traffic is foreign.
package enum TopicFilterBenchmark {
    package static func measure(_ options: Options) -> Report {
        var report = Report("topic-filter")
        let clientCount = 1_000_000
        options.progress.say("topic-filter: \(2 * clientCount) topics")
        let memoryBefore = Machine.residentMegabytes() ?? .nan
        var table = TopicTable(minimumCapacity: 2 * clientCount)
        var random = SplitMix64(seed: 1)
        for registration in 1...clientCount {
            for isPrefixed in [false, true] {
                table.insert(
                    .init(registration: Int64(registration), isPrefixed: isPrefixed), topic: UInt32(truncatingIfNeeded: random.next()))
            }
        }
        let memory = (Machine.residentMegabytes() ?? .nan) - memoryBefore
        let directory = TopicDirectory(serverKey: BenchmarkOwners.server.publicKey, table: table)
        // The generator is the same. The first topics are those of clients, and the others are nearly all foreign.
        var same = SplitMix64(seed: 1)
        var other = SplitMix64(seed: 2)
        let own = (0..<4_096).map { _ in Topic(rawValue: UInt32(truncatingIfNeeded: same.next())).contentTopic }
        let foreign = (0..<4_096).map { _ in Topic(rawValue: UInt32(truncatingIfNeeded: other.next())).contentTopic }
        for (name, contentTopics) in [("foreign", foreign), ("of clients", own)] {
            var wantedCount = 0
            report.add(
                "content topics, \(name)",
                (0..<options.runCount).map { _ in
                    Timing.rate(for: options.duration, batchCount: contentTopics.count) {
                        wantedCount = 0
                        for contentTopic in contentTopics {
                            if let topic = Topic(contentTopic: contentTopic), directory.wants(topic) { wantedCount += 1 }
                        }
                    }
                }, unit: "/s", goal: .atLeast(2e6))
            report.add("wanted, \(name)", [100 * Double(wantedCount) / Double(contentTopics.count)], unit: "%")
        }
        report.add("memory of the table", [memory], unit: "MB", goal: .atMost(24))
        report.add("memory of a topic", [memory * 1e6 / Double(2 * clientCount)], unit: "bytes")
        return report
    }
}
