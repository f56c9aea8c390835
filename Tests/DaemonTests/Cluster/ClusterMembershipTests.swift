import Bytes
import Store
import Synchronization
import TestSupport
import Testing

@testable import Daemon

/// The renewals of a lease, without a database.
@Suite(.safetyNet) struct ClusterMembershipTests {
    private final class Cluster: ClusterStore {
        let isAway = Mutex(true)

        var number: Int64 { 1 }
        var memberCount: Int { 1 }

        func holdsLease(as number: Int64, for duration: Duration) -> Bool { true }
        func takePart(isReceiving: Bool) async throws -> TakenWork {
            if isAway.withLock(\.self) { throw StoreError.unreachable("refused") }
            return TakenWork()
        }
        func registrations(on topics: [UInt32]) async throws -> [ChangedRegistration] { [] }
        func assembles(_ hash: Digest32) -> Bool { true }
        func pass(_ rows: [Int64], ofMessage hash: Digest32) async throws {}
        func isReplyFinished(_ message: Int64) async throws -> Bool { false }
        func logsValues() async throws -> Bool { false }
        func stopReceiving() async throws {}
        func members() async throws -> [ClusterMember] { [] }
    }

    @Test func `each renewal that fails is counted, and their begin and end are in the log`() async throws {
        let (cluster, clock, lines) = (Cluster(), ManualClock(), LogLines())
        let (failures, work) = (Recorder<Void>(), Recorder<TakenWork>())
        let membership = ClusterMembership(
            cluster: cluster, isReceiving: { true }, clock: clock, logger: lines.logger, countFailure: { failures.append(()) },
            resume: { work.append($0) })
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
