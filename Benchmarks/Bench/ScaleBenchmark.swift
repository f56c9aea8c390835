import Bytes
import Envelope
import Foundation
import TestSupport

/// The effect of a growing database on the server.
package enum ScaleBenchmark {
    /// Measures the server.
    ///
    /// - Parameter sizes: The numbers of registrations. The rates of the last are compared with those of the first.
    package static func measure(_ options: Options, sizes: [Int]) async throws -> Report {
        var report = Report("scale")
        var workloads: [MessageKind: Workload] = [:]
        var first: [MessageKind: Sample] = [:]
        for size in sizes {
            options.progress.say("scale: seeding \(size) registrations")
            let seed = try await SeededStore(ownerCount: size, directory: options.directory, progress: options.progress)
            defer { seed.remove() }
            report.add("\(size) registrations, disk", [Double(seed.byteCount) / 1e6], unit: "MB")
            report.add(
                "\(size) registrations, disk for each", [Double(seed.byteCount) / Double(size)], unit: "bytes",
                goal: size == sizes.last ? .atMost(900) : nil)
            try await addStart(of: seed, to: &report, options: options, hasGoals: size == sizes.last)

            var logByteCount = 0
            for kind in [MessageKind.registration, .query, .push] {
                let workload =
                    workloads[kind]
                    ?? Workload(kind, count: options.messageCount, owners: seed.askedOwnerCount, threadCount: options.threadCount)
                workloads[kind] = workload
                var rates: [Double] = []
                var processorTimes: [Double] = []
                for run in 0..<options.runCount {
                    let result = try await EngineRun(path: seed.copy(), workerCount: options.threadCount).measure(workload)
                    rates.append(result.rate)
                    processorTimes.append(result.processorTime)
                    logByteCount = max(logByteCount, result.logByteCount)
                    options.progress.say(
                        "scale: \(size) registrations, \(kind.rawValue), run \(run + 1) of \(options.runCount): "
                            + "\(Report.text(result.rate))/s")
                }
                report.add("\(size) registrations, \(kind.rawValue)", rates, unit: "/s")
                report.add("\(size) registrations, \(kind.rawValue), processor time", processorTimes, unit: "µs")
                if let first = first[kind] {
                    report.add(
                        "\(size) registrations, \(kind.rawValue) ÷ the same at \(sizes[0])", rates.map { $0 / first.median }, unit: "×",
                        goal: size == sizes.last ? .atLeast(0.90) : nil)
                } else {
                    first[kind] = Sample(rates)
                }
            }
            report.add("\(size) registrations, log at most", [Double(logByteCount) / 1e6], unit: "MB")
        }
        for count in [0, waitingPushCount] { try await addStart(withWaitingPushes: count, to: &report, options: options) }
        return report
    }

    /// As many pushes as devices that never worked may have in a full queue.
    private static let waitingPushCount = 750_000

    /// Starts the server on a database with waiting pushes, of which it then delivers the first.
    private static func addStart(withWaitingPushes count: Int, to report: inout Report, options: Options) async throws {
        options.progress.say("scale: seeding \(count) waiting pushes")
        let seed = try await SeededStore(ownerCount: DeliveryBenchmark.ownerCount, directory: options.directory, progress: options.progress)
        defer { seed.remove() }
        let folder = try SeededStore.serverFolder()
        let gorush = try await GorushProcess(directory: options.directory)
        // The first start of a server writes which route a push belongs to, so that no later one has to move pushes.
        let settings = ["storage.path": seed.path, "gorush.url": gorush.url]
        _ = try await ServerProcess.start(in: folder, settings: settings).terminate()
        try await seed.addPushes(count)
        var (ready, first, megabytes) = ([Double](), [Double](), [Double]())
        for _ in 0..<options.runCount {
            let settings = ["storage.path": try seed.copy(), "gorush.url": gorush.url]
            let earlierCount = gorush.notificationCount
            let start = ContinuousClock.now
            let server = try await ServerProcess.start(in: folder, settings: settings)
            ready.append((ContinuousClock.now - start).seconds)
            if count > 0 {
                let arrival = await gorush.arrivals(1, afterNotifications: earlierCount)[0].time
                first.append((arrival - start).seconds)
            }
            megabytes.append(Machine.residentMegabytes(of: server.processIdentifier) ?? .nan)
            await server.kill()
        }
        report.add("\(count) waiting pushes, start to ready", ready, unit: "s")
        if count > 0 { report.add("\(count) waiting pushes, start to the first push at gorush", first, unit: "s") }
        report.add("\(count) waiting pushes, resident memory", megabytes, unit: "MB")
    }

    /// Starts the server itself on the database.
    private static func addStart(
        of seed: SeededStore, to report: inout Report, options: Options, hasGoals: Bool
    ) async throws {
        let folder = try SeededStore.serverFolder()
        var seconds: [Double] = []
        var megabytes: [Double] = []
        for _ in 0..<options.runCount {
            let settings = ["storage.path": try seed.copy()]
            let start = ContinuousClock.now
            let server = try await ServerProcess.start(in: folder, settings: settings)
            seconds.append((ContinuousClock.now - start).seconds)
            megabytes.append(Machine.residentMegabytes(of: server.processIdentifier) ?? .nan)
            _ = await server.terminate()
        }
        report.add("\(seed.ownerCount) registrations, start to ready", seconds, unit: "s", goal: hasGoals ? .atMost(1) : nil)
        report.add(
            "\(seed.ownerCount) registrations, resident memory", megabytes, unit: "MB", goal: hasGoals ? .atMost(150) : nil)
    }
}
