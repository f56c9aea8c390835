import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Daemon

/// The renewals of a lease, without a database.
@Suite(.safetyNet) struct ClusterMembershipTests {
    @Test func `each renewal that fails is counted, and their begin and end are in the log`() async throws {
        let (cluster, clock, lines) = (StubCluster(), ManualClock(), LogLines())
        cluster.isAway.withLock { $0 = true }
        let (failures, work) = (Recorder<Void>(), Recorder<TakenWork>())
        let membership = ClusterMembership(
            cluster: cluster, isReceiving: { true }, clock: clock, logger: lines.logger, countFailure: { failures.append(()) },
            abandon: { _ in }, resume: { work.append($0) })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await membership.run() }
            for _ in 1...3 {
                await clock.sleepers(dueIn: ClusterLimits.interval)
                clock.advance(by: ClusterLimits.interval)
            }
            await clock.sleepers(dueIn: ClusterLimits.interval)
            cluster.isAway.withLock { $0 = false }
            clock.advance(by: ClusterLimits.interval)
            await work.wait(for: 1)
            await clock.sleepers(dueIn: ClusterLimits.interval)
            group.cancelAll()
            try await group.waitForAll()
        }
        #expect(failures.all.count == 3 && lines.all.count == 2, "\(lines.all)")
    }
}
