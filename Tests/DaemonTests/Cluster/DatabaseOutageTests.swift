import TestSupport
import Testing

/// Two servers on one PostgreSQL that fails under load, and comes back.
@Suite(.fewAtATime) struct DatabaseOutageTests {
    enum Outage: CaseIterable {
        /// `pg_ctl restart --mode=fast`.
        case restarted
        /// SIGKILL for all its processes, and a new start.
        case killed
        /// `pg_terminate_backend` for all connections, ten times.
        case disconnected
        /// The disk of the WAL is full. PostgreSQL ends, and starts when there is space again.
        case logWithoutSpace
    }

    @Test(arguments: Outage.allCases, ClusterCampaign.rounds)
    func `two servers lose no message or push, and recover by themselves when PostgreSQL returns`(outage: Outage, round: Int) async throws {
        var random = ClusterCampaign.random(round)
        let postgres = try await PostgreSQLProcess.start()
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            try await load.run {
                await load.waitForAnswers(Int.random(in: 0...40, using: &random))
                switch outage {
                case .restarted:
                    await postgres.stop()
                    try await postgres.start()
                case .killed:
                    await postgres.kill()
                    try await postgres.start()
                case .disconnected:
                    for _ in 0..<10 {
                        try await postgres.query(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                + "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
                    }
                case .logWithoutSpace:
                    try await postgres.limitFiles(to: 1)
                    await postgres.waitForEnd()
                    try await postgres.start()
                }
                await load.waitForAnswers(40)
            }
            try await load.check(world, servers, context: ClusterCampaign.context)
        }
        await postgres.stop()
    }

    @Test func `a full disk of PostgreSQL makes the servers unready until it has space again`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            try await load.run {
                await load.waitForAnswers(20)
                // Files of the WAL have 1 MiB, and a table of messages has more after these.
                try await postgres.limitFiles(to: 1_100_000)
                try await load.writeLargeMessages(count: 4, byteCount: 500_000)
                for server in servers {
                    try await server.waitUntilNotReady(because: "SQLSTATE 53100")
                }
                try await postgres.limitFiles(to: nil)
                for server in servers { #expect(await server.log.wait { $0.hasSuffix(" warning [Daemon] ready again") }) }
                await load.waitForAnswers(40)
            }
            try await load.check(world, servers)
        }
        await postgres.stop()
    }
}
