import Bytes
import Envelope
import Store
import Synchronization

/// The store of a server that shares its database with nobody, without a database.
final class StubCluster: ClusterStore {
    /// How long the lease lasts.
    let lease: Duration
    /// Whether renewals fail.
    let isAway = Mutex(false)

    /// The times that the database has lost.
    let lost: [LostTime]

    init(lease: Duration = .seconds(15), lost: [LostTime] = []) { (self.lease, self.lost) = (lease, lost) }

    var number: Int64 { 1 }
    var memberCount: Int { 1 }
    var databaseTime: Timestamp? { nil }

    func holdsLease(as number: Int64, for duration: Duration) -> Bool { duration < lease }
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
    func lostTimes() async throws -> [LostTime] { lost }
    func endRestoredPushes(acceptedBefore oldest: Timestamp, at now: Timestamp) async throws -> Int { 0 }
}
