import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Who can keep servers from starting: an operator's command, one of 0.1.0 as well, and nobody else.
@Suite(.safetyNet) struct OperatorLockTests {
    /// The advisory locks of 0.1.0, for commands and for the creation of the tables.
    private static let earlierLocks = [0x636f_7079, 0x7075_7368]

    @Test func `a role that may only connect keeps neither servers nor commands from starting`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.openPostgreSQL()
        var parameters = try folder.newPostgreSQL()
        let role = "stranger-\(folder.databaseName)"
        _ = try Connection(parameters).run([Command("CREATE ROLE \"\(role)\" LOGIN")])
        parameters["user"] = role
        let stranger = try Connection(parameters)
        for key in Self.earlierLocks { _ = try stranger.run([Command("SELECT pg_advisory_lock(\(key))")]) }
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

    @Test func `a command of 0_1_0 excludes servers and commands of this version`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.openPostgreSQL()
        var parameters = try folder.newPostgreSQL()
        parameters["application_name"] = "pushctl 0.1.0"
        let earlier = try Connection(parameters)
        _ = try earlier.run([Command("SELECT pg_try_advisory_lock(\(Self.earlierLocks[0]))")])
        func expectLocked(_ body: () throws -> Void) {
            let error = #expect(throws: StoreError.self) { try body() }
            guard case .locked(let holder?) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(holder.hasPrefix("pushctl 0.1.0 (process "), "\(holder)")
        }
        expectLocked { _ = try folder.openPostgreSQL(serverName: "two") }
        expectLocked { _ = try OperatorLock(folder.newPostgreSQL()) }
        _ = try earlier.run([Command("SELECT pg_advisory_unlock(\(Self.earlierLocks[0]))")])
        let second = try folder.openPostgreSQL(serverName: "two")
        await second.close()
        await server.close()
    }

    @Test func `a command of this version excludes servers of 0_1_0`() async throws {
        let folder = try TemporaryFolder()
        let server = try folder.openPostgreSQL()
        func mayJoin() throws -> [Bool] {
            let connection = try Connection(folder.newPostgreSQL())
            return try connection.run([Command("SELECT pg_try_advisory_xact_lock_shared(\(Self.earlierLocks[0]))")])[0].map {
                try $0.next()
            }
        }
        #expect(try mayJoin() == [true])
        let lock = try OperatorLock(folder.newPostgreSQL())
        #expect(try mayJoin() == [false])
        withExtendedLifetime(lock) {}
        await server.close()
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
