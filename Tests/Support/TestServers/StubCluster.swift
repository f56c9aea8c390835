package import Bytes
package import Envelope
package import Store
package import Synchronization

/// The store of a server that shares its database with nobody, without a database.
package final class StubCluster: ClusterStore {
    /// How long the lease lasts.
    package let lease: Duration
    /// Whether renewals fail.
    package let isAway = Mutex(false)

    /// The times that the database has lost.
    package let lost: [LostTime]

    private let list: [ClusterMember]

    package init(lease: Duration = .seconds(15), lost: [LostTime] = [], members: [ClusterMember] = []) {
        (self.lease, self.lost, list) = (lease, lost, members)
    }

    package var number: Int64 { 1 }
    package var memberCount: Int { 1 }
    package var databaseTime: Timestamp? { nil }

    package func holdsLease(as number: Int64, for duration: Duration) -> Bool { duration < lease }
    package func takePart(isReceiving: Bool) async throws -> TakenWork {
        if isAway.withLock(\.self) { throw StoreError.unreachable("refused") }
        return TakenWork()
    }
    package func registrations(on topics: [UInt32]) async throws -> [ChangedRegistration] { [] }
    package func assembles(_ hash: Digest32) -> Bool { true }
    package func pass(_ rows: [Int64], ofMessage hash: Digest32) async throws {}
    package func isReplyFinished(_ message: Int64) async throws -> Bool { false }
    package func logsValues() async throws -> Bool { false }
    package func stopReceiving() async throws {}
    package func members() async throws -> [ClusterMember] { list }
    package func lostTimes() async throws -> [LostTime] { lost }
    package func endRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int { 0 }
}
