import Foundation
import TestSupport
import Testing

/// The number of times that the tests of several servers repeat each fault, and the seed that repeats their choices.
enum ClusterCampaign {
    /// `CLUSTER_TEST_ROUNDS` sets the number of rounds; `Scripts/crash-test cluster` runs a hundred.
    static let rounds = 1...(ProcessInfo.processInfo.environment["CLUSTER_TEST_ROUNDS"].flatMap { Int($0) } ?? 1)
    private static let seed = ProcessInfo.processInfo.environment["CLUSTER_TEST_SEED"].flatMap { UInt64($0) } ?? .random(in: 0...(.max))

    static var context: Comment { "CLUSTER_TEST_SEED=\(seed)" }

    /// Lets an interruption last a minute, four leases, in `Scripts/test --long` and `Scripts/crash-test cluster`. The minute is the fault
    /// that is tested, and no wait for a fact. Otherwise the interruption ends at once: the tests have waited for the end of the lease.
    static func prolongInterruption() async throws {
        if rounds.count > 1 { try await Task.sleep(for: .seconds(60)) }
    }

    static func random(_ round: Int) -> SplitMix64 { SplitMix64(seed: seed &+ UInt64(round)) }
}
