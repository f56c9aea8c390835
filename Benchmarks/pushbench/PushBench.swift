import ArgumentParser
import Bench
import Foundation
import Observation

@main
struct PushBench: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pushbench",
        abstract: "Compare the server with the bare cryptography of its messages (Benchmarks/BENCHMARKS.md).",
        version: BuildInfo.description,
        subcommands: [
            EngineCommand.self, ScaleCommand.self, LatencyCommand.self, TopicFilterCommand.self, DeliveryCommand.self, AbuseCommand.self,
            NextcloudCommand.self, StackCommand.self, ModelCommand.self,
        ])
}

/// The options of all benchmarks.
struct SharedOptions: ParsableArguments {
    @Option(help: "Runs of each figure; the median counts.")
    var runs = 5

    @Option(help: "Messages of each kind and run.")
    var count = 20_000

    @Option(help: "Seconds of each figure and run that is limited by time.")
    var seconds = 1.0

    @Option(help: "Threads of the floor and workers of the engine. Default: the number of cores.")
    var threads = ProcessInfo.processInfo.activeProcessorCount

    @Option(help: "Folder for databases, on the disk to measure. Default: the current folder.", completion: .directory)
    var directory = FileManager.default.currentDirectoryPath

    func validate() throws {
        guard runs > 0, count > 0, seconds > 0, threads > 0 else {
            throw ValidationError("runs, count, seconds and threads must be above 0")
        }
    }

    /// Runs a benchmark in its own folder, removes the folder, and prints the results.
    func measure(_ benchmark: (Options) async throws -> Report) async throws {
        print(try await run(benchmark).table)
    }

    /// Runs a benchmark in its own folder, and removes the folder.
    func run<Result>(_ benchmark: (Options) async throws -> Result) async throws -> Result {
        let folder = try BenchmarkFolder(in: directory)
        defer { folder.remove() }
        return try await benchmark(
            Options(
                runCount: runs, messageCount: count, threadCount: threads, duration: .milliseconds(Int(seconds * 1_000)),
                directory: folder.path))
    }
}

extension MessageKind: ExpressibleByArgument {}
extension StoreKind: ExpressibleByArgument {}
