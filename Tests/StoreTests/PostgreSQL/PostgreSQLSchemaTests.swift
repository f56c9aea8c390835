import Foundation
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// The updates of the tables of older versions (RELIABILITY.md T11).
@Suite(.fewAtATime) struct PostgreSQLSchemaTests {
    /// The statements that turn the tables back into those of version 1.
    private static let version1 = [
        "DROP INDEX push_due, push_open, push_open_by_target, push_open_by_registration",
        "CREATE INDEX push_due ON push (server, route, trust, next_attempt_at, id) WHERE finished_at IS NULL",
        "CREATE INDEX push_open ON push (id) WHERE finished_at IS NULL",
        "CREATE INDEX push_open_by_target ON push (key_hash, installation_id, id) WHERE finished_at IS NULL",
        "CREATE INDEX push_open_by_registration ON push (registration) WHERE finished_at IS NULL",
        "ALTER TABLE message RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)",
        "ALTER TABLE push RESET (autovacuum_analyze_scale_factor, autovacuum_analyze_threshold)",
        "UPDATE identity SET schema_version = 1",
    ]

    @Test func `a server brings the tables of version 1 up to date, and keeps their rows`() async throws {
        let folder = try TemporaryFolder()
        let first = try folder.openPostgreSQL()
        try await first.register(registration())
        try await first.enqueue([push()])
        await first.close()
        let database = folder.databaseName
        let new = try Self.shape(of: database)
        for statement in Self.version1 { try TestPostgreSQL().run(statement, in: database) }
        #expect(try Self.shape(of: database) != new)

        let store = try folder.openPostgreSQL()
        #expect(try Self.shape(of: database) == new)
        #expect(try await store.registrationCount() == 1)
        _ = try await store.takeOverOutbox(routes: [], latest: start)
        #expect(try await store.duePushes(route: "", at: start, limit: 9).map(\.push) == [push()])
        await store.close()
    }

    @Test func `a server rejects the tables of a newer version`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        await store.close()
        try TestPostgreSQL().run("UPDATE identity SET schema_version = schema_version + 1", in: folder.databaseName)
        #expect(throws: StoreError.unknownSchema) { try folder.openPostgreSQL() }
    }

    /// Returns the indexes, the storage parameters and the version of a database.
    private static func shape(of database: String) throws -> [String] {
        let rows = try TestPostgreSQL().run(
            """
            SELECT convert_to(text, 'UTF8') FROM (
                SELECT indexdef AS text FROM pg_indexes WHERE schemaname = 'public'
                UNION ALL SELECT relname || array_to_string(reloptions, ' ') FROM pg_class WHERE reloptions IS NOT NULL
                UNION ALL SELECT schema_version::text FROM identity
            ) AS shape ORDER BY text
            """,
            in: database)
        return try rows.map { try $0.next(String.self) }
    }
}
