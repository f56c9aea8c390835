import Bytes
import PushProtocol
import StatusCrypto
import Store
import TestSupport

@testable import PostgreSQLStore

/// A simulated world's database in PostgreSQL, with one server. Its writes fail as on a broken network: no effects remain.
struct SimulatedPostgreSQL: SimulatedDatabase {
    private static let server = "server"

    private let database: ClusterDatabase
    private(set) var store: PostgreSQLStore?

    init() async throws {
        database = try await ClusterDatabase()
    }

    mutating func open(seed: UInt64) throws -> any PushStore {
        // Neither clock moves, so the lease lasts.
        let store = try PostgreSQLStore(
            database.parameters(of: Self.server), identity: Party.server.key.compressed, sealingKeys: testSealingKeys,
            serverName: Self.server, random: SplitMix64(seed: seed), maximumQueueCount: Server.maximumQueueCount, clock: ManualClock(),
            logger: quietLogger)
        self.store = store
        return store
    }

    func fail(with failure: FaultyDisk.Failure, first: Int, count: Int) async throws {
        try await heal()
        try await database.partition(Self.server, after: first - 1)
    }

    func heal() async throws { try await database.heal(Self.server) }

    /// The database is on another machine.
    var isCut: Bool { false }

    func crash(powerCut: UInt64?) async throws {
        try await heal()
        // The lease stays, as with a killed process. Only its connections close.
        await store?.pool.close()
    }

    func remove() async throws { try await database.remove() }
}
