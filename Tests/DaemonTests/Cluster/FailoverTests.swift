import TestSupport
import Testing

/// Two servers on a PostgreSQL with a synchronous standby, whose primary is killed under load.
@Suite(.fewAtATime) struct FailoverTests {
    @Test(arguments: ClusterCampaign.rounds)
    func `servers lose no message or push, and recover by themselves when the standby is promoted`(round: Int) async throws {
        let primary = try await PostgreSQLProcess.start()
        let standby = try await primary.startStandby()
        let database = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
        try await withClusterWorld(["one", "two"], database: database) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            var random = ClusterCampaign.random(round)
            try await load.run {
                await load.waitForAnswers(Int.random(in: 0...80, using: &random))
                await primary.kill()
                try await standby.promote()
                await load.waitForAnswers(40)
            }
            try await load.check(world, servers, context: ClusterCampaign.context)
        }
        await standby.stop()
    }
}
