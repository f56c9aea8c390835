import Store
import Synchronization
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A PostgreSQL that hangs while a queue is counted.
@Suite(.fewAtATime) struct HangingCountTests {
    @Test func `the figures of the outbox are there although PostgreSQL hangs in a count`() async throws {
        let folder = try TemporaryFolder()
        var parameters = try folder.newPostgreSQL()
        let gate = try SocketGate(to: try #require(parameters["host"]))
        parameters["host"] = gate.socket
        let store = try PostgreSQLStore(
            parameters, identity: identity, sealingKeys: sealingKeys(1), serverName: "one", logger: quietLogger)
        // A start does not count the queues: the first push does.
        gate.hold(at: "FILTER (WHERE", passes: false)
        let counting = Task { try await store.enqueue([push()]) }
        await gate.waitForHeld()
        // Whoever reads them under a lock that the count holds would wait for PostgreSQL.
        #expect(store.outbox.capacity.withLockIfAvailable(\.rejectedCounts) == [:])
        gate.breakHeld()
        _ = await counting.result
        await store.close()
    }
}
