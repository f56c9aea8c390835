import Foundation
import StatusCrypto
import Synchronization

/// The latency of first queries about several owners at once, whose topic keys are not derived. Clients wait 3 s.
enum FirstQueries {
    static let count = 16
    /// The number of busy threads next to each core's own.
    private static let busyThreadCountPerCore = 2

    /// - Parameter hasIdleCores: Whether the cores have nothing else to do. Otherwise other threads keep them busy.
    static func measure(hasIdleCores: Bool, _ options: Options) async throws -> [Sample] {
        let owners = (0..<count).map { Owner(number: 2_000_000 + $0) }
        let senders = owners.indices.map { BenchmarkOwners.key("first query", $0) }
        let workload = Workload(.query, from: senders, try zip(owners, senders).map { try TopicKeyFlood.query(about: $0, by: $1) })
        var samples: [Sample] = []
        for run in 0..<options.runCount {
            options.progress.say("latency: first queries\(hasIdleCores ? "" : " on busy cores"), run \(run + 1) of \(options.runCount)")
            let busy = BusyThreads(count: hasIdleCores ? 0 : busyThreadCountPerCore * ProcessInfo.processInfo.activeProcessorCount)
            defer { busy.stop() }
            let transport = PacedTransport(workload, rate: 1_000_000, patience: .seconds(60))
            samples.append(try await TopicKeyFlood.latencies(of: transport, workload, about: owners, options))
        }
        return samples
    }
}

/// Threads that compute until they are stopped.
private final class BusyThreads: Sendable {
    private let isStopped = Atomic(false)

    init(count: Int) {
        for _ in 0..<count {
            Thread.detachNewThread { [self] in
                while !isStopped.load(ordering: .relaxed) {}
            }
        }
    }

    func stop() { isStopped.store(true, ordering: .relaxed) }
}
