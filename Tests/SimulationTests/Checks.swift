import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store

/// The invariants of RELIABILITY.md and the limits of LIMITS.md, which hold after each step.
enum Checks {
    /// Checks all invariants and limits.
    ///
    /// - Parameters:
    ///   - push: The id of the newest push at the start of the process. The limits apply to later pushes.
    ///   - elapsed: The time since the start of the process.
    static func all(
        of model: ReferenceModel, in store: any PushStore, _ database: any SimulatedDatabase, since push: Int64, for elapsed: Duration
    ) async throws {
        let facts = try await store.auditFacts()
        let audit = Audit(facts)
        try expect(audit.balances, "the ledger balances (I5): \(audit.lines.filter { !$0.balances })")
        try expect(
            facts.counts[.accepted, default: 0] == model.acceptedCount,
            "accepted pushes are recorded, and no others (I1): \(facts.counts[.accepted, default: 0]), \(model.acceptedCount)")
        let stored = try await database.phones()
        let pushCount = try await database.maximumPushCount(after: push)
        let owners = stored.filter { $0.key.keyHash != Party.hoarder.keyHash }
        try expect(model.agrees(with: owners), "only their owners change registrations, and only forward (I3)")

        let liveCount = stored.count { $0.key.keyHash == Party.hoarder.keyHash && $0.value.isLive }
        let tombstoneCount = stored.count - owners.count - liveCount
        try expect(liveCount <= ProtocolLimits.maximumInstallationsPerKey, "a key's installations stay within the limit: \(liveCount)")
        try expect(
            tombstoneCount <= ProtocolLimits.maximumUnknownTombstonesPerKey,
            "a key's tombstones of unknown installations stay within the limit: \(tombstoneCount)")
        try expect(
            facts.openCount <= 2 * Int64(Server.maximumQueueCount), "the open pushes stay within the queues' capacity: \(facts.openCount)")
        // A deferred push may be one beyond the limit, and another one if the first finishes just then.
        let pushLimit = ProtocolLimits.pushCapacity + Int(elapsed / ProtocolLimits.pushInterval) + 3
        try expect(pushCount <= pushLimit, "a device's pushes stay within its rate limit: \(pushCount) in \(elapsed)")
    }

    /// Checks that each push that a sender has a report of is in the outbox, or was coalesced with one that is (I1).
    ///
    /// - Parameter stored: The deduplication keys of the stored pushes.
    static func invariants(of model: ReferenceModel, stored: Set<Digest32>, in store: any PushStore) async throws {
        let lost = model.promised.subtracting(stored)
        let facts = try await store.auditFacts()
        let ends: [Milestone] = [.sent, .expired, .deadToken, .refused, .discarded, .withdrawn]
        let explained = facts.counts[.coalesced, default: 0] + ends.reduce(0) { $0 + facts.prunedCounts[$1, default: 0] }
        try expect(lost.count <= explained, "reported pushes are in the outbox (I1): \(lost.count) are missing, \(explained) may be")
    }
}
