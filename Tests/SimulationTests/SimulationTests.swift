import Foundation
import TestSupport
import Testing

/// Seeded worlds, each with everything that can go wrong. `SIMULATION_SEEDS=5000` runs so many; `SIMULATION_SEED=17` replays one, and prints
/// what happened in it.
@Suite(.fewAtATime, .timeLimit(.minutes(600)))
struct SimulationTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let stepCount = 300

    private static var seeds: [UInt64] {
        if let seed = environment["SIMULATION_SEED"].flatMap(UInt64.init) { return [seed] }
        return Array(1...(environment["SIMULATION_SEEDS"].flatMap(UInt64.init) ?? 48))
    }

    @Test func `In no world is a promise broken`() async throws {
        for seed in Self.seeds {
            var simulation = try await Simulation(seed: seed)
            do {
                try await simulation.run(steps: Self.stepCount)
                if Self.environment["SIMULATION_SEED"] != nil { print(simulation.trace.joined(separator: "\n")) }
            } catch {
                Issue.record(
                    """
                    seed \(seed): \(error)
                    Again, with all that happened: SIMULATION_SEED=\(seed) swift test --filter SimulationTests
                    \(simulation.trace.suffix(Self.environment["SIMULATION_SEED"] == nil ? 12 : .max).joined(separator: "\n"))
                    """)
            }
        }
    }
}
