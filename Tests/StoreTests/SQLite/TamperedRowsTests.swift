import Bytes
import GRDB
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// The audit's detection of changes to rows without the store's knowledge (RELIABILITY.md I5), and the content of tombstones.
@Suite(.safetyNet)
struct TamperedRowsTests {
    @Test(
        arguments: [
            "UPDATE push SET state = 4 WHERE id = 1", "DELETE FROM push WHERE id = 2", "DELETE FROM push WHERE id = 9",
            "UPDATE push SET finished_at = NULL, state = 0 WHERE id = 4", "UPDATE push SET state = 1, finished_at = 1 WHERE id = 9",
            "UPDATE push SET state = 99 WHERE id = 9",
            "UPDATE push SET secrets = x'' WHERE id = 1",
            "CREATE TEMPORARY TABLE copy AS SELECT * FROM push WHERE id = 9; UPDATE copy SET id = 99; INSERT INTO push SELECT * FROM copy",
            "DELETE FROM message WHERE id = 1", "DELETE FROM message WHERE id = 5", "UPDATE message SET ignore_reason = 2 WHERE id = 2",
            "UPDATE message SET state = 1 WHERE id = 5", "UPDATE ledger SET count = count + 1 WHERE milestone = 'sent'",
            "DELETE FROM ledger WHERE milestone = 'merged'", "UPDATE ledger SET pruned = 1 WHERE milestone = 'dead_token'",
        ])
    func `a row that was tampered with is found`(sql: String) async throws {
        try await withSQLiteStore { store in
            try await store.fillLedger()
            #expect(Audit(try await store.auditFacts()).balances)
            try await store.pool.write { try $0.execute(sql: sql) }
            let audit = Audit(try await store.auditFacts())
            #expect(!audit.balances)
            #expect(audit.lines.contains { !$0.balances })
        }
    }

    @Test func `a tombstone keeps only the first columns of its row, and no other table refers to it`() async throws {
        try await withSQLiteStore { store in
            try await store.register(registration())
            try await store.saveTopicKey(.init(repeating: 9), keyHash: hash(1), prefixed: false)
            try await store.unregister(version: 2)
            let (columns, counts) = try await store.read { database in
                let row = try Row.fetchOne(database, sql: "SELECT * FROM registration")
                let tables = ["registration_lists", "query_topic", "topic_key"]
                return (
                    row?.filter { !$0.1.isNull }.map(\.0) ?? [],
                    try tables.map { try database.count("SELECT count(*) FROM \($0)") }
                )
            }
            #expect(
                columns == [
                    "id", "key_prefix", "is_live", "was_registered", "version", "updated_at", "key_hash", "installation_prefix",
                    "installation_id", "plaintext_digest",
                ])
            #expect(counts == [0, 0, 0])
        }
    }

    @Test func `a push request finds its target and matching list entries without reading the lists`() async throws {
        try await withSQLiteStore { store in
            try await store.register(registration())
            let target = try await store.target()
            #expect(target?.blockedChatList == [[4]])
            #expect(try await store.queryable()?.count == 1)
            try await store.pool.write { try $0.execute(sql: "DROP TABLE registration_lists") }
            #expect(try await store.target() == target)
            await #expect(throws: StoreError.self) { try await store.queryable() }
        }
    }
}
