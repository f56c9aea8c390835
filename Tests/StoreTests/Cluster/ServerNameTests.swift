import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Two processes that run under one name, on one machine or on clones of it.
@Suite(.safetyNet) struct ServerNameTests {
    private func states(_ store: PostgreSQLStore) async throws -> [ClusterMember.State] { try await store.members().map(\.state) }

    @Test(arguments: [("a", "a"), ("", ""), ("", "a"), ("a", "")])
    func `a server fences its predecessor immediately, whose part is the same or unknown`(earlier: String, later: String) async throws {
        let folder = try TemporaryFolder()
        let crashed = try folder.openPostgreSQL(serverPart: earlier)
        let successor = try folder.openPostgreSQL(serverPart: later)
        #expect(try await states(successor) == [.fenced, .alive])
        await successor.close()
        await crashed.close()
    }

    @Test func `a server of another machine with the same name does not start until the lease ends`() async throws {
        let folder = try TemporaryFolder()
        let original = try folder.openPostgreSQL(serverPart: "a", clock: ManualClock())
        #expect(throws: StoreError.nameTaken(name: "one")) {
            _ = try folder.openPostgreSQL(serverPart: "b", clock: ManualClock())
        }
        let other = try folder.openPostgreSQL(serverName: "two", serverPart: "b", clock: ManualClock())
        #expect(try await states(other) == [.alive, .alive])
        try await other.pool.perform(.writing) { $0.add("UPDATE server SET lease_ends = now() WHERE name = 'one'") }
        let heir = try folder.openPostgreSQL(serverPart: "b", clock: ManualClock())
        #expect(try await states(other) == [.fenced, .alive, .alive])
        await #expect(throws: StoreError.nameTaken(name: "one")) { _ = try await original.takePart() }
        for store in [heir, other, original] { await store.close() }
    }

    @Test func `a server stops when it is fenced twice in thirty seconds by a copy of its folder`() async throws {
        let folder = try TemporaryFolder()
        let clocks = [ManualClock(), ManualClock()]
        let (one, copy) = (
            try folder.openPostgreSQL(serverPart: "a", clock: clocks[0]), try folder.openPostgreSQL(serverPart: "a", clock: clocks[1])
        )
        _ = try await one.takePart()
        _ = try await copy.takePart()
        await #expect(throws: StoreError.duplicated(name: "one")) { _ = try await one.takePart() }
        clocks[0].advance(by: Replacements.memory + .milliseconds(1))
        _ = try await one.takePart()
        await one.close()
        await copy.close()
    }

    @Test func `a server whose lease ended rejoins without being counted as replaced`() async throws {
        let folder = try TemporaryFolder()
        let store = try folder.openPostgreSQL(serverPart: "a", clock: ManualClock())
        for _ in 1...3 {
            try await store.pool.perform(.writing) { $0.add("UPDATE server SET is_fenced = true") }
            _ = try await store.takePart()
        }
        await store.close()
    }
}
