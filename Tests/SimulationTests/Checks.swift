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
        var hoardedCount = 0

        init() {}

        init(_ store: SQLiteStore) async throws {
            lastPush = try await store.auditFacts().pushRowsEver
            hoardedCount = try await store.registrationSummaries(of: Person.hoarder.keyHash).count(where: \.isLive)
        }
    }

    /// - Parameter elapsed: since the process began.
    static func all(of book: Book, in store: SQLiteStore, since found: Found, for elapsed: Duration) async throws {
        let facts = try await store.auditFacts()
        let audit = Audit(facts)
        try expect(audit.balances, "the ledger balances (I5): \(audit.lines.filter { !$0.balances })")
        try expect(
            facts.counts[.accepted, default: 0] == book.acceptedCount,
            "what was accepted is written down, and nothing else (I1): \(facts.counts[.accepted, default: 0]), \(book.acceptedCount)")
        var summaries: [Person: [RegistrationSummary]] = [:]
        for owner in Person.owners { summaries[owner] = try await store.registrationSummaries(of: owner.keyHash) }
        try expect(book.agrees(with: summaries), "only their owners change registrations, and only forward (I3)")
        try await limits(in: store, openCount: facts.openCount, since: found, for: elapsed)
    }

    private static func limits(in store: SQLiteStore, openCount: Int64, since found: Found, for elapsed: Duration) async throws {
        let hoarded = try await store.registrationSummaries(of: Person.hoarder.keyHash)
        let liveCount = hoarded.count(where: \.isLive)
        try expect(liveCount <= Limits.maximumInstallationsPerKey, "a key has so many installations at most: \(liveCount)")
        try expect(
            hoarded.count - liveCount <= Limits.maximumUnknownTombstonesPerKey, "and so many tombstones of nothing: \(hoarded.count)")
        try expect(
            liveCount - found.hoardedCount <= Limits.registrationCapacity + Int(elapsed / Limits.registrationInterval) + 1,
            "a key registers so often at most: \(liveCount) in \(elapsed)")
        try expect(openCount <= 2 * Int64(Server.maximumQueueCount), "so many pushes wait for a route at most: \(openCount)")
        // What waits for a credit may be one beyond, and another one if that closes just then.
        let pushLimit = Limits.pushCapacity + Int(elapsed / Limits.pushInterval) + 3
        let pushCount = try await store.largestPushCount(after: found.lastPush)
        try expect(pushCount <= pushLimit, "a phone is rung so often at most: \(pushCount) in \(elapsed)")
    }

    /// Whatever a sender was told of is in the outbox, or became one with what is (I1).
    static func promises(of book: Book, in store: SQLiteStore) async throws {
        let promised = book.promised
        let earliest = Timestamp(nanoseconds: 0).advanced(by: Limits.tripleLifetime)
        let committed = await store.commit([()], at: earliest) { _ in
            var questions = Questions()
            questions.triples = promised
            return questions
        } deciding: {
            $1.facts.recentTriples
        }
        let lost = promised.subtracting(try committed.outcomes[0].get())
        let facts = try await store.auditFacts()
        let ends: [Milestone] = [.sent, .expired, .dead, .refused, .discarded, .withdrawn]
        let explained = facts.counts[.coalesced, default: 0] + ends.reduce(0) { $0 + facts.prunedCounts[$1, default: 0] }
        try expect(lost.count <= explained, "what a sender was told of is in the outbox (I1): \(lost.count) are not, \(explained) may be")
    }
}

extension SQLiteStore {
    /// Pushes to one installation with rows after that.
    fileprivate func largestPushCount(after row: Int64) async throws -> Int {
        try await read { database in
            try database.first(
                """
                SELECT coalesce(max(count), 0) FROM (
                    SELECT count(*) AS count FROM push WHERE id > ? GROUP BY key_hash, installation_id)
                """,
                row
            ) { try $0.next() } ?? 0
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
