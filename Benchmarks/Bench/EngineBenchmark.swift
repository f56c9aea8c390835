/// The engine from envelopes to replies, compared with the bare operations of the same run.
package enum EngineBenchmark {
    /// The number of registrations in the database, which queries and pushes use.
    private static let ownerCount = 20_000

    /// Measures the engine and the floor alternately, so that other load on the machine affects both.
    ///
    /// - Parameter store: The kind of store. PostgreSQL runs alternate with SQLite runs.
    package static func measure(_ options: Options, kinds: [MessageKind], store: StoreKind = .sqlite) async throws -> Report {
        var report = Report("engine")
        options.progress.say("engine: seeding \(ownerCount) registrations")
        let seed = try await SeededStore(ownerCount: ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        let otherSeed =
            store == .postgresql
            ? try await SeededPostgreSQL(ownerCount: ownerCount, directory: options.directory, progress: options.progress) : nil
        for kind in kinds {
            options.progress.say("engine: preparing \(options.messageCount) times \(kind.rawValue)")
            let floor = Floor(kind)
            let workload = Workload(
                kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
            var floors: [(rate: Double, processorTime: Double)] = []
            var results: [EngineRun.Result] = []
            var others: [EngineRun.Result] = []
            var pairs: [EngineRun.Result] = []
            for run in 0..<options.runCount {
                floors.append(floor.measure(messageCount: options.messageCount, threadCount: options.threadCount))
                results.append(try await EngineRun(path: seed.copy(), workerCount: options.threadCount).measure(workload))
                options.progress.say(
                    "engine: \(kind.rawValue), run \(run + 1) of \(options.runCount): "
                        + "floor \(Report.text(floors[run].rate))/s, engine \(Report.text(results[run].rate))/s")
                guard let otherSeed else { continue }
                others.append(try await EngineRun(otherSeed.copy(), workerCount: options.threadCount).measure(workload))
                pairs.append(try await EngineRun(otherSeed.copy(), workerCount: options.threadCount).measure(workload, serverCount: 2))
                options.progress.say(
                    "engine: \(kind.rawValue) with PostgreSQL \(Report.text(others[run].rate))/s, "
                        + "by two servers \(Report.text(pairs[run].rate))/s")
            }
            report.add("\(kind.rawValue), floor", floors.map(\.rate), unit: "/s")
            report.add("\(kind.rawValue), engine", results.map(\.rate), unit: "/s")
            report.add("\(kind.rawValue), engine ÷ floor", zip(results, floors).map { $0.rate / $1.rate }, unit: "×", goal: kind.goal)
            report.add("\(kind.rawValue), floor, processor time", floors.map(\.processorTime), unit: "µs")
            report.add("\(kind.rawValue), engine, processor time", results.map(\.processorTime), unit: "µs")
            report.add(
                "\(kind.rawValue), messages a commit", results.map { Double(options.messageCount) / Double($0.commitCount) }, unit: "")
            if otherSeed != nil {
                add(others, besides: results, kind, options, to: &report)
                addPairs(pairs, besides: others, kind, to: &report)
            }
        }
        return report
    }

    /// Adds the runs with PostgreSQL, and compares the server's own processor time with that of the SQLite runs.
    private static func add(
        _ results: [EngineRun.Result], besides others: [EngineRun.Result], _ kind: MessageKind, _ options: Options, to report: inout Report
    ) {
        let name = "\(kind.rawValue), PostgreSQL"
        report.add("\(name), engine", results.map(\.rate), unit: "/s")
        report.add("\(name), engine ÷ SQLite", zip(results, others).map { $0.rate / $1.rate }, unit: "×")
        report.add("\(name), engine, processor time", results.map(\.processorTime), unit: "µs")
        report.add(
            "\(name), engine ÷ SQLite, processor time", zip(results, others).map { $0.processorTime / $1.processorTime }, unit: "×",
            goal: .atMost(1.3))
        report.add("\(name), its processes, processor time", results.map(\.databaseProcessorTime), unit: "µs")
        report.add("\(name), messages an fsync", results.map { Double(options.messageCount) / Double($0.commitCount) }, unit: "")
    }

    /// Adds the runs of two servers on one PostgreSQL database, compared with those of one server.
    private static func addPairs(
        _ results: [EngineRun.Result], besides others: [EngineRun.Result], _ kind: MessageKind, to report: inout Report
    ) {
        let name = "\(kind.rawValue), two servers on PostgreSQL"
        report.add(name, results.map(\.rate), unit: "/s")
        report.add("\(name) ÷ one", zip(results, others).map { $0.rate / $1.rate }, unit: "×")
        report.add("\(name), processor time of both", results.map(\.processorTime), unit: "µs")
        report.add("\(name), its processes, processor time", results.map(\.databaseProcessorTime), unit: "µs")
    }
}

extension MessageKind {
    /// The goal for the ratio engine ÷ floor.
    fileprivate var goal: Report.Goal {
        switch self {
        case .registration, .push: .atLeast(0.80)
        case .query, .storedQuery, .directQuery: .atLeast(0.85)
        }
    }
}
