import Foundation
import PostgreSQLStore
import StatusCrypto
import Store

/// A PostgreSQL database with registered owners, made once. Each run gets a copy of it.
struct SeededPostgreSQL {
    private static let name = "seed"
    private static let copyName = "run"

    let server: PostgreSQLServer
    /// The size of the tables and their indexes, in bytes.
    let byteCount: Int
    /// The number of owners that messages may concern.
    let askedOwnerCount: Int

    /// - Parameter directory: The benchmark's folder, in which a server is started.
    init(ownerCount: Int, directory: String, progress: Progress) async throws {
        server = try await PostgreSQLServer(below: directory)
        askedOwnerCount = SeededStore.askedOwnerCount(of: ownerCount)
        try await server.query("CREATE DATABASE \(Self.name)")
        let store = try Self.open(server, Self.name)
        try await SeededStore.fill(store, ownerCount: ownerCount, progress: progress)
        await store.close()
        try await Self.waitForClients(of: Self.name, server)
        // VACUUM ANALYZE gives the planner the statistics of a database in use.
        try await server.query("VACUUM FULL ANALYZE", in: Self.name)
        byteCount = try await Self.byteCount(of: Self.name, server)
    }

    /// Returns a synced copy of the seed.
    func copy() async throws -> RunDatabase {
        try await server.query(
            "DROP DATABASE IF EXISTS \(Self.copyName) WITH (FORCE)", "CREATE DATABASE \(Self.copyName) TEMPLATE \(Self.name)", "CHECKPOINT")
        return .postgreSQL(server, name: Self.copyName)
    }

    static func open(_ server: PostgreSQLServer, _ name: String, serverName: String = "bench") throws -> PostgreSQLStore {
        try PostgreSQLStore(
            server.parameters(name), identity: BenchmarkOwners.server.publicKey.compressed, sealingKeys: SeededStore.sealingKeys,
            serverName: serverName, namedBundleIDs: ["im.status.ethereum"], logger: .silent)
    }

    /// Returns the bytes of the tables and their indexes, without PostgreSQL's catalogue, whose size varies by megabytes.
    static func byteCount(of name: String, _ server: PostgreSQLServer) async throws -> Int {
        Int(try await server.query("SELECT sum(pg_total_relation_size(relid)) FROM pg_stat_user_tables", in: name)) ?? 0
    }

    /// Waits until the server has ended closed connections. A template must have none, and only then are their counters complete.
    static func waitForClients(of name: String, _ server: PostgreSQLServer) async throws {
        try await server.query(
            """
            DO $$ BEGIN
                WHILE EXISTS (SELECT FROM pg_stat_activity WHERE datname = '\(name)' AND backend_type = 'client backend') LOOP
                    PERFORM pg_sleep(0.01);
                    PERFORM pg_stat_clear_snapshot();
                END LOOP;
            END $$
            """)
    }
}
