import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Failing transactions of PostgreSQL.
@Suite(.safetyNet) struct TransactionTests {
    @Test func `a connection works again after a transaction whose first round trip failed`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        // The failures outnumber the store's connections.
        for _ in 0..<20 {
            await #expect(throws: StoreError.self) { try await store.pool.perform(.writing) { $0.add("SELECT 1 / 0") } }
        }
        for _ in 0..<20 { try await store.probe() }
        await store.close()
    }

    @Test(arguments: [false, true])
    func `what waits for a commit happens after it, and not at all without it`(fails: Bool) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        let committed = Recorder<String>()
        _ = try? await store.pool.perform(.writing) { transaction in
            transaction.afterCommit { committed.append("done") }
            transaction.add(fails ? "SELECT 1 / 0" : "SELECT 1")
        }
        #expect(committed.all == (fails ? [] : ["done"]))
        await store.close()
    }
}
