/// Envelopes in, replies out, against the bare operations measured in the same run.
package enum EngineBenchmark {
    /// Registrations in the database beforehand, which queries ask for and pushes go to.
    private static let ownerCount = 20_000

    /// The bare operations alone.
    package static func floor(_ options: Options) -> Report {
        var report = Report("floor")
        for kind in MessageKind.allCases {
            options.progress.say("floor: \(kind.rawValue)")
            let floor = Floor(kind)
            let runs = (0..<options.runCount).map { _ in
                floor.measure(messageCount: options.messageCount, threadCount: options.threadCount)
            }
            report.add(kind.rawValue, runs.map(\.rate), unit: "/s")
            report.add("\(kind.rawValue), processor time", runs.map(\.processorTime), unit: "µs")
        }
        return report
    }

    /// The engine in turn with the floor, so that what else the machine does hits both.
    ///
    /// - Parameter withDelivery: whether pushes are also measured with delivery running, which needs the stub gorush beside this program.
    package static func engine(_ options: Options, kinds: [MessageKind], withDelivery: Bool = true) async throws -> Report {
        var report = Report("engine")
        options.progress.say("engine: seeding \(ownerCount) registrations")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        for kind in kinds {
            options.progress.say("engine: preparing \(options.messageCount) times \(kind.rawValue)")
            let floor = Floor(kind)
            let workload = Workload(
                kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
            var floors: [(rate: Double, processorTime: Double)] = []
            var results: [EngineRun.Result] = []
            for run in 0..<options.runCount {
                floors.append(floor.measure(messageCount: options.messageCount, threadCount: options.threadCount))
                results.append(try await EngineRun(path: seed.copy(), workerCount: options.threadCount).measure(workload))
                options.progress.say(
                    "engine: \(kind.rawValue), run \(run + 1) of \(options.runCount): "
                        + "floor \(Report.text(floors[run].rate))/s, engine \(Report.text(results[run].rate))/s")
            }
            report.add("\(kind.rawValue), floor", floors.map(\.rate), unit: "/s")
            report.add("\(kind.rawValue), engine", results.map(\.rate), unit: "/s")
            report.add("\(kind.rawValue), engine ÷ floor", zip(results, floors).map { $0.rate / $1.rate }, unit: "×", mark: kind.mark)
            report.add("\(kind.rawValue), floor, processor time", floors.map(\.processorTime), unit: "µs")
            report.add("\(kind.rawValue), engine, processor time", results.map(\.processorTime), unit: "µs")
            report.add(
                "\(kind.rawValue), messages a commit", results.map { Double(options.messageCount) / Double($0.commitCount) }, unit: "")
            if kind == .push { try await addFlood(to: &report, seed: seed, workload: workload, options: options) }
            if kind == .push, withDelivery { try await addDelivery(to: &report, seed: seed, workload: workload, options: options) }
        }
        return report
    }

    /// The same while junk arrives on as many query topics as the lane for unknown keys has room for.
    private static func addFlood(to report: inout Report, seed: SeededStore, workload: Workload, options: Options) async throws {
        let junk = Workload.junk(count: min(1_000, seed.ownerCount))
        var ratios: [Double] = []
        for run in 0..<options.runCount {
            options.progress.say("engine: \(workload.kind.rawValue) beside junk, run \(run + 1) of \(options.runCount)")
            let calm = try await EngineRun(path: seed.copy(), workerCount: options.threadCount).measure(workload)
            let flooded = try await EngineRun(path: seed.copy(), workerCount: options.threadCount).measure(workload, junk: junk)
            ratios.append(flooded.rate / calm.rate)
        }
        report.add("\(workload.kind.rawValue) beside junk on \(junk.count) query topics ÷ without", ratios, unit: "×")
    }

    /// Pushes accepted while accepted ones go out, to a gorush in a process of its own.
    private static func addDelivery(
        to report: inout Report, seed: SeededStore, workload: Workload, options: Options
    ) async throws {
        let gorush = try await GorushProcess(directory: options.directory)
        defer { gorush.stop() }
        var results: [EngineRun.Result] = []
        for run in 0..<options.runCount {
            options.progress.say("engine: \(workload.kind.rawValue) with delivery, run \(run + 1) of \(options.runCount)")
            let engine = EngineRun(path: try seed.copy(), workerCount: options.threadCount, gorushURL: gorush.url)
            results.append(try await engine.measure(workload))
        }
        report.add("\(workload.kind.rawValue), engine with delivery", results.map(\.rate), unit: "/s")
        report.add("\(workload.kind.rawValue), delivered", results.compactMap(\.deliveredRate), unit: "/s")
    }
}

extension MessageKind {
    /// Engine ÷ floor.
    fileprivate var mark: Report.Mark {
        switch self {
        case .registration, .push: .atLeast(0.80)
        case .query, .storedQuery, .directQuery: .atLeast(0.85)
        }
    }
}
