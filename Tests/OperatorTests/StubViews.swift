import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store

/// What an operator's tools read, without a database.
struct StubViews: OperatorViews {
    var requests: [TracedRequest] = []
    var pushes: [TracedPush] = []
    var waiting = WaitingPushes(groups: [], oldest: [], finishedCounts: [:], openCount: 0)
    var facts = AuditFacts()
    var counts = RegistrationCounts()
    var summaries: [RegistrationSummary] = []
    var dead: [DeadRegistration] = []

    func progress(ofPush deduplicationKey: Digest32) async throws -> PushProgress? { nil }
    func tracePushes(to target: Installation) async throws -> [TracedPush] { pushes }
    func traceRequests(_ id: [UInt8]) async throws -> [TracedRequest] { requests }
    func waitingPushes(oldest limit: Int, acceptedSince start: Timestamp) async throws -> WaitingPushes { waiting }
    func auditFacts(report: @escaping @Sendable (_ done: Int, _ total: Int) -> Void) async throws -> AuditFacts { facts }
    func figures() async throws -> StoreFigures {
        var figures = StoreFigures()
        figures.ledger = facts
        return figures
    }
    func registrationCounts(since start: Timestamp?) async throws -> RegistrationCounts { counts }
    func registrationSummaries(of keyHash: Digest64) async throws -> [RegistrationSummary] { summaries }
    func deadRegistrations(limit: Int) async throws -> [DeadRegistration] { dead }
    func restoreDeadRegistrations(_ ids: [Int64]?, at now: Timestamp) async throws -> [ChangedRegistration] { [] }
    func forget(_ key: PublicKey, at now: Timestamp) async throws -> Forgotten { Forgotten() }
    func hold(_ holds: [RouteHold]) async throws {}
    func resume(_ routes: Set<String>) async throws -> [RouteHold] { [] }
}
