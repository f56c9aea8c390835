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

    /// Conflicts with other transactions let one of them through each time.
    @Test(arguments: ["40001", "40P01"]) func `a transaction is repeated after nine conflicts, and the next one as often`(
        state: String
    ) async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        for conflictCount in [2, 9, 1, 10, 9] {
            let attempts = Recorder<Void>()
            func run() async throws {
                try await store.pool.perform(.writing) { transaction in
                    attempts.append(())
                    let fails = attempts.all.count <= conflictCount
                    try transaction.run(
                        fails ? "DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '\(state)'; END $$" : "SELECT 1")
                }
            }
            if conflictCount < 10 { try await run() } else { await #expect(throws: StoreError.self) { try await run() } }
            #expect(attempts.all.count == min(conflictCount + 1, 10))
        }
        await store.close()
    }

    @Test func `a connection that breaks is made again, each time`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        for _ in 1...3 {
            // Each of the store's connections was used since the last time.
            for _ in 1...20 { try await store.probe() }
            try TestPostgreSQL().run(
                "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = '\(folder.databaseName)'")
            for _ in 1...20 { try await store.probe() }
        }
        await store.close()
    }
}
