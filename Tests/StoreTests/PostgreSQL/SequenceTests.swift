import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// A database whose sequences stayed behind, as a logical copy leaves them.
@Suite(.safetyNet) struct SequenceTests {
    @Test func `a start raises sequences that are behind their tables, and no others`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL()
        for number in 1...3 { _ = try await store.record(number) }
        try await store.enqueue([push(1), push(2), push(3)])
        try await store.register(registration(installation(1)))
        await store.close()
        let connection = try Connection(folder.newPostgreSQL())
        for sequence in ["server_number", "push_id", "message_id", "registration_id"] {
            _ = try connection.run([Command("ALTER SEQUENCE \(sequence)_seq RESTART 1")])
        }
        _ = try connection.run([Command("SELECT setval('dead_registration_id_seq', 1000)")])

        let next = try folder.openPostgreSQL(serverName: "two")
        #expect(try await next.record(4) == 4)
        try await next.enqueue([push(4)])
        #expect(try await next.duePushes(route: "", at: start, limit: 9).map(\.id).max() == 4)
        #expect(try await next.register(registration(installation(2))) == 2)
        let kept = try connection.run([Command("SELECT last_value FROM dead_registration_id_seq")])[0].map { try $0.next(Int64.self) }
        #expect(kept == [1_000])
        #expect(Audit(try await next.auditFacts()).balances)
        await next.close()
    }
}
