import Foundation
import TestSupport
import Testing

/// Seeded worlds with all faults. `Scripts/test` runs 60 of them, `Scripts/test --long` 500, `SIMULATION_SEEDS=5000` that many. Every fifth
/// has its database in PostgreSQL. `SIMULATION_STEPS` sets the number of steps in each. `SIMULATION_SEED=17` replays one world and prints
/// its steps.
@Suite(.fewAtATime, .timeLimit(.minutes(600)))
struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let replayed = environment["SIMULATION_SEED"].flatMap(UInt64.init)
    private static let stepCount = environment["SIMULATION_STEPS"].flatMap(Int.init) ?? 80
    private static let seedCount = environment["SIMULATION_SEEDS"].flatMap(UInt64.init) ?? 60
    /// The number of worlds at a time: the cores of a small machine.
    private static let sliceCount: UInt64 = 2

    @Test(arguments: 0..<sliceCount) func `no simulated world breaks an invariant`(slice: UInt64) async throws {
        if let seed = Self.replayed { return slice == 0 ? try await run(seed: seed, isPrinted: true) : () }
        for seed in 1...Self.seedCount where seed % Self.sliceCount == slice { try await run(seed: seed) }
    }

    @Test func `a seed determines every event of a simulation`() async throws {
        for seed: UInt64 in [1, 2, 3, 5] {
            var (first, second) = (try await Simulation(seed: seed), try await Simulation(seed: seed))
            try await first.run(steps: 300)
            try await second.run(steps: 300)
            #expect(first.trace == second.trace)
        }
    }

    private func run(seed: UInt64, isPrinted: Bool = false) async throws {
        var simulation = try await Simulation(seed: seed)
        do {
            try await simulation.run(steps: Self.stepCount)
            if isPrinted { print(simulation.trace.joined(separator: "\n")) }
        } catch {
            Issue.record(
                """
                seed \(seed): \(error)
                Again, with all that happened: SIMULATION_SEED=\(seed) SIMULATION_STEPS=\(Self.stepCount) swift test \
                --filter SimulationTests.SimulationTests
                \(simulation.trace.suffix(isPrinted ? .max : 12).joined(separator: "\n"))
                """)
        }
    }
}
