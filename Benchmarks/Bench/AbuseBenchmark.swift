import Envelope
import Foundation
import Wire

/// The effect of attacks on honest clients (docs/LIMITS.md): equal honest messages during each attack, and without one.
package enum AbuseBenchmark {
    private static let ownerCount = 20_000
    /// The rate of registrations, queries and push requests a second. A hundred thousand devices with some forty of them a day make it.
    private static let honestRate = 60.0
    /// The maximum wait of a client. Later replies count as missing.
    private static let patience = Duration.seconds(10)

    private struct Result {
        var replies: Sample
        var unansweredCount: Int
        var memoryMegabytes: Double
        var diskMegabytes: Double
    }

    /// Measures the attacks.
    ///
    /// - Parameter duration: The duration of each run.
    package static func measure(_ options: Options) async throws -> Report {
        var report = Report("abuse")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        let seconds = options.duration.seconds
        let workload = Workload(
            .registration, .query, .push, count: Int(honestRate * seconds), owners: seed.askedOwnerCount - 1,
            threadCount: options.threadCount)
        let alone = try await measure(workload, nil, seed, options)
        add(alone, "alone", to: &report)
        let aloneLatency = Sample(alone.map { $0.replies.quantile(0.99) }).median
        // No honest client sends to the last owner.
        for attack in try Strangers(apartFrom: workload, seconds: seconds).attacks(on: Owner(number: seed.askedOwnerCount - 1)) {
            let byteCount = attack.envelopes.reduce(0) { $0 + $1.message.payload.count }
            let rates = "\(Int(Double(attack.envelopes.count) / seconds))/s, \(Int(Double(byteCount) / seconds / 1_000)) kB/s"
            add(
                try await measure(workload, attack, seed, options), "\(attack.name) (\(rates))", to: &report,
                latencyGoal: .atMost(max(2 * aloneLatency, 50)))
        }
        try await addTopicKeyFlood(to: &report, options)
        try await addMadeUpTargets(seed, options, to: &report)
        try await addStrangersDevices(seed, options, to: &report)
        try await addSilentProxies(to: &report, options)
        PeerAbuse.addPage(to: &report, options)
        try await PeerAbuse.addLockedRow(to: &report, options)
        return report
    }

    private static func addTopicKeyFlood(to report: inout Report, _ options: Options) async throws {
        let alone = try await TopicKeyFlood.measure(topicCount: 0, options)
        let idle = alone.map { $0.quantile(0.99) }
        report.add("queries on topics without a key, alone: p99", idle, unit: "ms")
        let flooded = try await TopicKeyFlood.measure(topicCount: TopicKeyFlood.topicCount, options)
        report.add(
            "\(TopicKeyFlood.topicCount) topics of throw-away registrations without keys: query p99",
            flooded.map { $0.quantile(0.99) }, unit: "ms", goal: .atMost(max(2 * Sample(idle).median, 50)))
    }

    private static func addMadeUpTargets(_ seed: SeededStore, _ options: Options, to report: inout Report) async throws {
        var (alone, attacked): ([Sample], [Sample]) = ([], [])
        for run in 0..<options.runCount {
            options.progress.say("abuse: made-up targets, run \(run + 1) of \(options.runCount)")
            alone.append(try await MadeUpTargets.delays(besides: 0, seed, options))
            attacked.append(try await MadeUpTargets.delays(besides: MadeUpTargets.attackCount, seed, options))
        }
        let idle = alone.map { $0.quantile(0.99) }
        report.add("pushes alone: until gorush, p99", idle, unit: "ms")
        report.add(
            "\(MadeUpTargets.targetCount) made-up targets: until gorush, p99", attacked.map { $0.quantile(0.99) }, unit: "ms",
            goal: .atMost(max(50, 2 * Sample(idle).median)))
    }

    private static func addStrangersDevices(_ seed: SeededStore, _ options: Options, to report: inout Report) async throws {
        var (alone, behind): ([Double], [Double]) = ([], [])
        for run in 0..<options.runCount {
            options.progress.say("abuse: a stranger's devices, run \(run + 1) of \(options.runCount)")
            alone.append(try await StrangersDevices.delay(behind: 0, seed, options))
            behind.append(try await StrangersDevices.delay(behind: StrangersDevices.pushCount, seed, options))
        }
        report.add("a new device's first push alone: until gorush", alone, unit: "ms")
        // A push of each of the devices may come first.
        let roundSeconds = Double(StrangersDevices.deviceCount) / 32 * Double(StrangersDevices.gorushMilliseconds) / 1_000
        report.add(
            "a new device's first push behind \(StrangersDevices.pushCount) to a stranger's \(StrangersDevices.deviceCount) devices",
            behind,
            unit: "ms", goal: .atMost(2_000 * roundSeconds + 500))
    }

    private static func addSilentProxies(to report: inout Report, _ options: Options) async throws {
        let alone = try await SilentProxyBenchmark.measure(silentCount: 0, options).map { $0.quantile(0.99) }
        report.add("Nextcloud origin alone: call p99", alone, unit: "ms")
        let count = SilentProxyBenchmark.proxyCount
        let beside = try await SilentProxyBenchmark.measure(silentCount: count, options).map { $0.quantile(0.99) }
        report.add(
            "\(count) silent push proxies of \(SilentProxyBenchmark.userCount) users: call p99", beside, unit: "ms",
            goal: .atMost(max(2 * Sample(alone).median, 50)))
    }

    private static func measure(_ workload: Workload, _ attack: Attack?, _ seed: SeededStore, _ options: Options) async throws -> [Result] {
        let gorush = try await GorushProcess(
            directory: options.directory,
            arguments: ["--quiet"] + (attack?.invalidTokens ?? []).flatMap { ["--invalid-token", $0] })
        var results: [Result] = []
        for run in 0..<options.runCount {
            options.progress.say("abuse: \(attack?.name ?? "alone"), run \(run + 1) of \(options.runCount)")
            let transport = PacedTransport(workload, rate: honestRate, strangers: attack?.envelopes ?? [], patience: patience)
            let path = try seed.copy()
            let memory = Task {
                var highest = 0.0
                while !Task.isCancelled {
                    highest = max(highest, Machine.residentMegabytes() ?? .nan)
                    try? await Task.sleep(for: .milliseconds(100))
                }
                return highest
            }
            var engine = EngineRun(path: path, workerCount: options.threadCount, gorushURL: gorush.url)
            engine.drainsQueue = false
            _ = try await engine.run(transport, messageCount: workload.envelopes.count) { (.nan, .nan) }
            memory.cancel()
            let replies = try transport.replyLatencies(threadCount: options.threadCount)
            results.append(
                Result(
                    replies: replies, unansweredCount: workload.envelopes.count - replies.values.count,
                    memoryMegabytes: await memory.value,
                    diskMegabytes: Double(SeededStore.byteCount(path) - seed.byteCount) / 1e6))
        }
        return results
    }

    private static func add(_ results: [Result], _ name: String, to report: inout Report, latencyGoal: Report.Goal? = nil) {
        report.add("\(name): honest p50", results.map { $0.replies.quantile(0.5) }, unit: "ms")
        report.add("\(name): honest p99", results.map { $0.replies.quantile(0.99) }, unit: "ms", goal: latencyGoal)
        report.add("\(name): honest without an answer", results.map { Double($0.unansweredCount) }, unit: "", goal: .atMost(0))
        report.add("\(name): resident memory at most", results.map(\.memoryMegabytes), unit: "MB")
        report.add("\(name): database, growth", results.map(\.diskMegabytes), unit: "MB")
    }
}
