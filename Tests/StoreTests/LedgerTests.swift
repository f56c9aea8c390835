import Envelope
import GRDB
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

/// RELIABILITY.md I5.
@Suite(.safetyNet)
struct LedgerTests {
    /// A message and a push of every kind.
    private func fill(_ store: PushStore) async throws {
        for number in 1...5 { _ = try await store.record(number) }
        _ = try await store.record([(hash(1), envelope(1)), (hash(6), envelope(6)), (hash(6), envelope(6))], at: start)
        try await store.commit { transaction throws in
            try transaction.settle(1, as: .ignored(.invalid), at: start)
            try transaction.settle(2, as: .ignored(.notForUs), at: start)
            try transaction.settle(3, as: .silent, at: start)
            try transaction.settle(4, as: .answered(reply()), at: start)
            for number in 1...9 { try transaction.enqueue(push(number), message: 4, at: start) }
            try transaction.enqueue(push(10), message: 4, at: start, discarded: true)
            transaction.count(merged: 3, filtered: 2)
            try transaction.finish([1, 2], as: .sent, at: start)
            try transaction.finish([1, 3], as: .expired, at: start)
            try transaction.finish([4], as: .deadToken, at: start)
            try transaction.finish([5], as: .refused, at: start)
            _ = try transaction.lease([(6, hash(6)), (7, hash(7)), (8, hash(8))], at: start)
            try transaction.postpone(6, until: start, isUnknown: true)
            try transaction.release(7, to: .queued)
        }
    }

    @Test func `Every milestone is counted once, also after a restart`() async throws {
        let folder = try TemporaryFolder()
        var store = try folder.open()
        try await fill(store)
        await store.close()
        store = try folder.open(readOnly: true)
        let facts = try await store.auditFacts()
        #expect(
            facts.counts == [
                .received: 8, .duplicate: 2, .invalid: 1, .ignored: 1, .processed: 2, .accepted: 13, .merged: 3, .filtered: 2, .sent: 2,
                .expired: 1, .dead: 1, .refused: 1, .discarded: 1, .uncertain: 1,
            ])
        #expect(facts.undecidedCount == 2)
        #expect(facts.openCount == 4)
        #expect(Audit(facts).balances)
        await store.close()
    }

    @Test func `A body that fails counts nothing`() async throws {
        try await withStore { store in
            try await fill(store)
            let before = try await store.auditFacts()
            await #expect(throws: StoreError.damaged) {
                try await store.commit { transaction throws in
                    try transaction.enqueue(push(20), message: 1, at: start)
                    try transaction.finish([7], as: .sent, at: start)
                    throw StoreError.damaged
                }
            }
            #expect(try await store.auditFacts() == before)
        }
    }

    @Test func `What is pruned still balances`() async throws {
        try await withStore { store in
            try await fill(store)
            let pruned = try await store.prune(at: start.advanced(by: PushStore.retention + .seconds(1)))
            #expect(pruned == PushStore.Pruned(messageCount: 4, pushCount: 5))
            let facts = try await store.auditFacts()
            #expect(facts.prunedCounts[.sent] == 2 && facts.prunedCounts[.processed] == 2)
            #expect(facts.rowCounts == [.discarded: 1])  // the newest
            #expect(Audit(facts).balances)
            try await store.commit { try $0.enqueue(push(30), message: 9, at: start) }
            #expect(Audit(try await store.auditFacts()).balances)
        }
    }

    @Test(
        "A row that was tampered with is found",
        arguments: [
            "UPDATE push SET state = 4 WHERE id = 1", "DELETE FROM push WHERE id = 2", "DELETE FROM push WHERE id = 9",
            "UPDATE push SET finished_at = NULL, state = 0 WHERE id = 4", "UPDATE push SET state = 1, finished_at = 1 WHERE id = 9",
            "UPDATE push SET state = 99 WHERE id = 9", "UPDATE push SET device_token = 'x' WHERE id = 1",
            "INSERT INTO push SELECT 99, message, state, route, accepted_at, next_attempt_at, attempted_at, notification_id, reason, "
                + "finished_at, attempts, triple_prefix, triple, key_hash, installation_id, token_type, type, apn_topic, device_token, "
                + "chat_id, ciphertext FROM push WHERE id = 9",
            "DELETE FROM message WHERE id = 1", "DELETE FROM message WHERE id = 5", "UPDATE message SET ignore_reason = 2 WHERE id = 2",
            "UPDATE message SET state = 1 WHERE id = 5", "UPDATE ledger SET count = count + 1 WHERE milestone = 'sent'",
            "DELETE FROM ledger WHERE milestone = 'merged'", "UPDATE ledger SET pruned = 1 WHERE milestone = 'dead'",
        ])
    func tampered(sql: String) async throws {
        try await withStore { store in
            try await fill(store)
            #expect(Audit(try await store.auditFacts()).balances)
            try await store.pool.write { try $0.execute(sql: sql) }
            let audit = Audit(try await store.auditFacts())
            #expect(!audit.balances)
            #expect(audit.lines.contains { !$0.balances })
        }
    }
}
