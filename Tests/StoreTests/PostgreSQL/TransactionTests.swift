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
    func `the end of a transaction is told once, with whether it is durable`(fails: Bool) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        let ends = Recorder<Bool>()
        _ = try? await store.pool.perform(.writing) { transaction in
            transaction.atEnd { ends.append($0) }
            transaction.add(fails ? "SELECT 1 / 0" : "SELECT 1")
        }
        #expect(ends.all == [!fails])
        await store.close()
    }
}
