import Bytes
import StatusCrypto
import Store
import TestSupport
import Testing

@testable import PostgreSQLStore

/// Two servers on one database, whose leases end when a test ends them.
struct Cluster {
    let clocks = [ManualClock(), ManualClock()]
    let one: PostgreSQLStore
    let two: PostgreSQLStore

    /// Runs a test with both servers, after they have joined and know each other.
    static func with(_ body: (Cluster) async throws -> Void) async throws {
        let folder = try TemporaryFolder()
        let cluster = try Cluster(folder)
        _ = try await cluster.one.takePart()
        _ = try await cluster.two.takePart()
        try await body(cluster)
        await cluster.one.close()
        await cluster.two.close()
    }

    private init(_ folder: TemporaryFolder) throws {
        one = try folder.openPostgreSQL(serverName: "one", clock: clocks[0])
        two = try folder.openPostgreSQL(serverName: "two", clock: clocks[1])
    }

    /// Ends the leases of servers by the clock of the database, as if they had not renewed them.
    func endLeases(of servers: PostgreSQLStore...) async throws {
        for number in servers.map(\.number) {
            try await run("UPDATE server SET lease_ends = now() - interval '1 s' WHERE number = \(number)")
        }
    }

    /// Lets the second server renew its lease until it may fence the first, whose lease has ended. Then the second server fences the first
    /// and takes over its work.
    func fenceOne() async throws -> TakenWork {
        try await endLeases(of: one)
        clocks[1].advance(by: ClusterLimits.lease)
        return try await two.takePart()
    }

    /// Changes rows without the servers' knowledge.
    func run(_ sql: String) async throws {
        try await two.pool.perform(.writing) { $0.add(sql) }
    }

    /// Returns hashes of messages that a server owns.
    func hashes(of server: PostgreSQLStore, count: Int) -> [Digest32] {
        Array((0...).lazy.map { Digest32(repeating: UInt8(truncatingIfNeeded: $0)) }.filter { server.assembles($0) }.prefix(count))
    }
}
