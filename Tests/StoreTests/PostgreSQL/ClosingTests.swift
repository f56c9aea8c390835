import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

@Suite(.fewAtATime) struct ClosingTests {
    @Test func `a closed store has no connections left`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        _ = try await store.record([(hash(1), envelope(1))], at: start)
        await store.close()
        let observer = try folder.openPostgreSQL()
        // PostgreSQL notices a closed connection some time later.
        try await observer.pool.perform(.writing) { database in
            database.add(
                """
                DO $$ BEGIN
                    WHILE (SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()) > 0 LOOP
                        PERFORM pg_sleep(0.01);
                        PERFORM pg_stat_clear_snapshot();
                    END LOOP;
                END $$
                """)
        }
        await observer.close()
    }
}
