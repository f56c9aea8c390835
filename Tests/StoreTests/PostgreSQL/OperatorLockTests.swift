import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Who can keep servers from starting: an operator's command, and nobody else.
@Suite(.safetyNet) struct OperatorLockTests {
    @Test func `a role that may only connect keeps neither servers nor commands from starting`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.openPostgreSQL()
        var parameters = try folder.newPostgreSQL()
        let role = "stranger-\(folder.databaseName)"
        _ = try Connection(parameters).run([Command("CREATE ROLE \"\(role)\" LOGIN")])
        parameters["user"] = role
        let stranger = try Connection(parameters)
        #expect(throws: PostgreSQLError.failed(state: "42501")) {
            _ = try stranger.run([Command("BEGIN"), Command("LOCK TABLE operator_lock IN ACCESS SHARE MODE")])
        }
        let second = try folder.openPostgreSQL(serverName: "two")
        let lock = try OperatorLock(folder.newPostgreSQL())
        #expect(throws: StoreError.self) { _ = try folder.openPostgreSQL(serverName: "three") }
        withExtendedLifetime(lock) {}
        await second.close()
        await server.close()
        withExtendedLifetime(stranger) {}
        _ = try TestPostgreSQL().run("DROP ROLE \"\(role)\"")
    }

    @Test func `servers that start on an empty database at the same time wait for each other`() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.newPostgreSQL()
        try await withThrowingTaskGroup { group in
            for number in 1...4 { group.addTask { try folder.openPostgreSQL(serverName: "\(number)") } }
            for try await store in group { await store.close() }
        }
    }
}
