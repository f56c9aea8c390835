import Envelope
import PushProtocol
import StatusCrypto
import Store

@testable import SQLiteStore

/// What must hold after each step: RELIABILITY.md's invariants, and LIMITS.md.
enum Checks {
    /// What was there when the process began: its limits are for what came since.
    struct Found {
        var lastPush: Int64 = 0

        init() {}

        init(_ store: SQLiteStore) async throws {
            lastPush = try await store.auditFacts().pushRowsEver ?? 0
        }
    }

    /// - Parameter elapsed: since the process began.
    static func all(of model: ReferenceModel, in store: SQLiteStore, since found: Found, for elapsed: Duration) async throws {
        let facts = try await store.auditFacts()
        let audit = Audit(facts)
        try expect(audit.balances, "the ledger balances (I5): \(audit.lines.filter { !$0.balances })")
        try expect(
            facts.counts[.accepted, default: 0] == model.acceptedCount,
            "what was accepted is written down, and nothing else (I1): \(facts.counts[.accepted, default: 0]), \(model.acceptedCount)")
        let (stored, pushCount) = try await store.registrations(andPushesAfter: found.lastPush)
        let owners = stored.filter { $0.key.keyHash != Person.hoarder.keyHash }
        try expect(model.agrees(with: owners), "only their owners change registrations, and only forward (I3)")

        let liveCount = stored.count { $0.key.keyHash == Person.hoarder.keyHash && $0.value.isLive }
        let tombstoneCount = stored.count - owners.count - liveCount
        try expect(liveCount <= ProtocolLimits.maximumInstallationsPerKey, "a key has so many installations at most: \(liveCount)")
        try expect(tombstoneCount <= ProtocolLimits.maximumUnknownTombstonesPerKey, "and so many tombstones of nothing: \(tombstoneCount)")
        try expect(
            facts.openCount <= 2 * Int64(Server.maximumQueueCount), "so many pushes wait for a route at most: \(facts.openCount)")
        // What waits for a credit may be one beyond, and another one if that closes just then.
        let pushLimit = ProtocolLimits.pushCapacity + Int(elapsed / ProtocolLimits.pushInterval) + 3
        try expect(pushCount <= pushLimit, "a phone is rung so often at most: \(pushCount) in \(elapsed)")
    }

    /// Whatever a sender was told of is in the outbox, or became one with what is (I1).
    static func promises(of model: ReferenceModel, in store: SQLiteStore) async throws {
        let promised = model.promised
        let earliest = Timestamp(nanoseconds: 0).advanced(by: ProtocolLimits.deduplicationLifetime)
        let committed = await store.commit([()], at: earliest) { _ in
            var lookups = Lookups()
            lookups.deduplicationKeys = promised
            return lookups
        } deciding: {
            $1.facts.recentDeduplicationKeys
        }
        let lost = promised.subtracting(try committed.outcomes[0].get())
        let facts = try await store.auditFacts()
        let ends: [Milestone] = [.sent, .expired, .deadToken, .refused, .discarded, .withdrawn]
        let explained = facts.counts[.coalesced, default: 0] + ends.reduce(0) { $0 + facts.prunedCounts[$1, default: 0] }
        try expect(lost.count <= explained, "what a sender was told of is in the outbox (I1): \(lost.count) are not, \(explained) may be")
    }
}

extension SQLiteStore {
    /// All registrations, without their lists, and how many pushes with rows after that go to one installation at most.
    fileprivate func registrations(
        andPushesAfter row: Int64
    ) async throws -> (registrations: [Installation: ReferenceModel.Phone], pushCount: Int) {
        try await read { database in
            let phones = try database.all("SELECT key_hash, installation_id, version, is_live FROM registration") { row in
                let installation = Installation(keyHash: try row.next(), installationID: try row.next())
                return (installation, ReferenceModel.Phone(version: try row.next(), isLive: try row.next()))
            }
            let pushCount: Int?? = try database.first(
                "SELECT max(count) FROM (SELECT count(*) AS count FROM push WHERE id > ? GROUP BY key_hash, installation_id)", row
            ) { try $0.next(Int?.self) }
            return (Dictionary(phones) { first, _ in first }, (pushCount ?? nil) ?? 0)
        }
    }
}

extension Server {
    /// Whether the decision about a message is there, and is not that it is left without one.
    func isAnswered(_ row: Int64) async throws -> Bool {
        try await store.read { database in
            try database.first("SELECT state FROM message WHERE id = ?", row) { try $0.next(Int64.self) } == MessageState.answered.rawValue
        }
    }

    /// How a push has ended; nil: it is open.
    func end(of push: Int64) async throws -> PushOutcome? {
        try await store.read { database in
            try database.first("SELECT state FROM push WHERE id = ? AND finished_at IS NOT NULL", push) { try $0.next(PushOutcome.self) }
        }
    }
}
