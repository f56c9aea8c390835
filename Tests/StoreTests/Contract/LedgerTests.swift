import Bytes
import Envelope
import PushProtocol
import Store
import TestSupport
import Testing
import Wire

/// The ledger of invariant I5 (RELIABILITY.md).
@Suite(.safetyNet)
struct LedgerTests {
    @Test(arguments: StoreUnderTest.all)
    func `every milestone is counted once, also after a restart`(kind: StoreUnderTest) async throws {
        try await kind.withCrash { store in
            try await store.fillLedger()
        } after: { store in
            let facts = try await store.auditFacts()
            #expect(
                facts.counts == [
                    .received: 8, .duplicate: 2, .invalid: 1, .ignored: 1, .processed: 2, .accepted: 15, .merged: 3, .filtered: 2, .sent: 2,
                    .expired: 1, .deadToken: 1, .refused: 1, .discarded: 1, .uncertain: 1, .coalesced: 1, .withdrawn: 1,
                ])
            #expect(facts.undecidedCount == 2)
            #expect(facts.openCount == 4)
            #expect(Audit(facts).balances)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the figures for metrics are those of the audit`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            var empty = try await store.figures()
            #expect((empty.ledger.messageRowsEver ?? 0) == 0 && (empty.ledger.pushRowsEver ?? 0) == 0)
            (empty.ledger.messageRowsEver, empty.ledger.pushRowsEver) = (nil, nil)
            (empty.databaseByteCount, empty.databaseTime) = (nil, nil)
            #expect(empty == StoreFigures())
            try await store.fillLedger()
            _ = try await store.register(registration())
            var update = OutboxUpdate()
            update.tokens = [.suspect(hash(1), Suspicion(since: start, refusedAt: start), route: "")]
            _ = try await store.update(update, at: start)
            let (figures, facts) = (try await store.figures(), try await store.auditFacts())
            #expect(figures.ledger.counts == facts.counts && figures.ledger.undecidedCount == facts.undecidedCount)
            #expect(figures.openPushes.values.reduce(0, +) == Int(facts.openCount) && figures.oldestOpenPush == start)
            #expect(figures.openPushes == [.firstAttempt: 3, .retryOrDeferred: 1])
            #expect(figures.unpublishedCount == 1 && figures.registrationCount == 1 && figures.suspectedTokenCount == 1)
            #expect(Audit(ledgerOf: figures.ledger).imbalance == 0)
            var wrong = figures.ledger
            wrong.openCount += 2
            #expect(Audit(ledgerOf: wrong).imbalance == 2)
        }
    }

    @Test(arguments: StoreUnderTest.all)
    func `the ledger balances after pruning`(kind: StoreUnderTest) async throws {
        try await kind.withStore { store in
            try await store.fillLedger()
            let pruned = try await store.prune(at: start.advanced(by: ProtocolLimits.decidedMessageLifetime + .seconds(1)))
            #expect(pruned == Pruned(messageCount: 4, pushCount: 6))
            let facts = try await store.auditFacts()
            #expect(facts.prunedCounts[.sent] == 2 && facts.prunedCounts[.processed] == 2)
            #expect(facts.rowCounts == [.discarded: 1])  // the newest row
            #expect(Audit(facts).balances)
            try await store.enqueue([push(30)], message: 9)
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }
}

extension PushStore {
    /// Stores a message and a push of every kind.
    func fillLedger() async throws {
        for number in 1...5 { _ = try await record(number) }
        _ = try await record([(hash(1), envelope(1)), (hash(6), envelope(6)), (hash(6), envelope(6))], at: start)
        try await apply(at: start) { batch in
            batch.decide(1, as: .ignored(.invalid))
            batch.decide(2, as: .ignored(.notForUs))
            batch.decide(3, as: .silent)
            batch.decide(4, as: .answered(reply()))
            for number in 1...9 { batch.enqueue(push(number), message: 4) }
            // A deferred push coalesces with another one.
            batch.enqueue(push(11), message: 4, due: start)
            _ = batch.coalesce(push(11))
            batch.enqueue(push(10), message: 4, isDiscarded: true)
            batch.count(merged: 3, filtered: 2)
        }
        try await change([1, 2], to: .finish(.sent))
        try await change([1, 3], to: .finish(.expired))
        try await change([4], to: .finish(.deadToken))
        try await change([5], to: .finish(.refused))
        try await change([6], to: .retry(at: start, isUnknown: true))
        try await change([7], to: .release(.queued))
        try await change([10], to: .finish(.withdrawn))
    }
}
