import Foundation
import TestSupport
import Testing

/// Seeded worlds of two and three servers on one PostgreSQL database. `Scripts/test` runs 20 of them, `Scripts/test --long` 500,
/// `SIMULATION_CLUSTER_SEEDS=5000` that many. `SIMULATION_STEPS` sets the number of steps in each; `SIMULATION_SEED=17` replays one world
/// and prints its steps.
@Suite(.fewAtATime, .timeLimit(.minutes(600)))
struct ClusterSimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let replayed = environment["SIMULATION_SEED"].flatMap(UInt64.init)
    private static let stepCount = environment["SIMULATION_STEPS"].flatMap(Int.init) ?? 120
    private static let seedCount = environment["SIMULATION_CLUSTER_SEEDS"].flatMap(UInt64.init) ?? 20
    /// The number of cores of a small machine.
    private static let sliceCount: UInt64 = 2

    @Test(arguments: 0..<sliceCount) func `no simulated cluster breaks an invariant`(slice: UInt64) async throws {
        if let seed = Self.replayed { return slice == 0 ? try await run(seed: seed, isPrinted: true) : () }
        // Seeds of both slices have two servers and three.
        for seed in 1...Self.seedCount where seed / 2 % Self.sliceCount == slice { try await run(seed: seed) }
    }

    @Test func `a seed determines every event of a simulated cluster`() async throws {
        var (first, second) = (try await ClusterSimulation(seed: 1), try await ClusterSimulation(seed: 1))
        try await first.run(steps: Self.stepCount)
        try await second.run(steps: Self.stepCount)
        #expect(first.trace == second.trace)
    }

    private func run(seed: UInt64, isPrinted: Bool = false) async throws {
        var simulation = try await ClusterSimulation(seed: seed)
        do {
            try await simulation.run(steps: Self.stepCount)
            if isPrinted { print(simulation.trace.joined(separator: "\n")) }
        } catch {
            Issue.record(
                """
                seed \(seed): \(error)
                Again, with all that happened: SIMULATION_SEED=\(seed) SIMULATION_STEPS=\(Self.stepCount) swift test \
                --filter ClusterSimulationTests
                \(simulation.trace.suffix(isPrinted ? .max : 12).joined(separator: "\n"))
                """)
        }
    }
}
