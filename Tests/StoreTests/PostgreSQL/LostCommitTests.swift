import Logging
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Commits whose result does not reach the server.
@Suite(.fewAtATime) struct LostCommitTests {
    /// A killed PostgreSQL forgets the numbers of transactions that it has not written to the disk, and uses these numbers again.
    @Test func `a lost commit is not mistaken for a later transaction with the same number`() async throws {
        // The transaction of the test reaches the disk with its commit, and not before.
        let postgres = try await PostgreSQLProcess.start(["wal_writer_delay=10s"])
        let gate = try SocketGate(to: postgres.socket)
        let store = try Self.store(at: gate.socket, "one")
        let other = try Self.store(at: postgres.socket, "two")

        gate.hold(at: "COMMIT", passes: false)
        let lost = Condition<Int64>(0)
        let write = Task {
            try await store.write { transaction in
                let number = try transaction.number(marking: "lost")
                lost.change { $0 = number }
            }
        }
        await gate.waitForHeld()
        await postgres.kill()
        try await postgres.start()
        let otherNumber = try await other.write { try $0.number(marking: "kept") }
        gate.breakHeld()
        await #expect(throws: StoreError.self) { try await write.value }

        #expect(try await postgres.query("SELECT convert_from(name, 'UTF8') FROM job") == "kept")
        // The test proves something only if the number was the same one.
        #expect(otherNumber == lost.value)
        await store.close()
        await other.close()
        await postgres.stop()
    }

    @Test func `a commit whose result is lost has succeeded once PostgreSQL has completed it`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        let gate = try SocketGate(to: postgres.socket)
        let store = try Self.store(at: gate.socket, "one")
        // The last statement before the commit waits for this lock.
        let lock = Task { try await postgres.query("LOCK TABLE last_write IN EXCLUSIVE MODE; SELECT pg_sleep(1000)") }
        try await Self.wait(for: "pg_locks WHERE relation = 'last_write'::regclass AND granted", in: postgres)

        gate.hold(at: "COMMIT", passes: true)
        let write = Task {
            try await store.write { transaction in
                // It waits as long as the steps below take.
                transaction.database.add(Command("SET LOCAL lock_timeout = 0"))
                return try transaction.number(marking: "kept")
            }
        }
        await gate.waitForHeld()
        try await Self.wait(for: "pg_locks WHERE NOT granted", in: postgres)
        gate.breakHeld()
        // The store looks the outcome up.
        try await Self.wait(for: "pg_stat_activity WHERE application_name = 'test' AND query ~ 'xact_status|EXISTS'", in: postgres)
        try await postgres.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LOCK%'")
        _ = try await write.value
        _ = await lock.result
        await store.close()
        await postgres.stop()
    }

    /// Returns when a query finds a row.
    private static func wait(for rows: String, in postgres: PostgreSQLProcess) async throws {
        while try await postgres.query("SELECT count(*) FROM \(rows)") == "0" { try Task.checkCancellation() }
    }

    private static func store(at socket: String, _ name: String) throws -> PostgreSQLStore {
        let location = try PostgreSQLLocation(url: PostgreSQLProcess.serverSettings(sockets: [socket])["storage.url"] ?? "")
        return try PostgreSQLStore(
            location.connection(password: nil, name: "test"), identity: identity, sealingKeys: sealingKeys(1), serverName: name,
            logger: quietLogger)
    }
}

extension WriteTransaction {
    /// Adds a job that names the transaction, and returns its number.
    fileprivate func number(marking name: String) throws -> Int64 {
        _ = try takeJob(name)
        return try #require(database.number)
    }
}
