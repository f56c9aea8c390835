import TestSupport
import Testing

/// Three servers on one database under load. SIGKILL ends any two of them (RELIABILITY.md T1).
@Suite(.fewAtATime) struct ServerKillTests {
    @Test(arguments: ClusterCampaign.rounds)
    func `three servers lose no message or push while any two of them are killed and restarted`(round: Int) async throws {
        let names = ["one", "two", "three"]
        var random = ClusterCampaign.random(round)
        try await withClusterWorld(names) { world in
            var servers: [String: ServerProcess] = [:]
            for name in names { servers[name] = try await world.start(name) }
            let load = ClusterLoad(server: try serverKey(of: #require(servers["one"])), on: world.bus)
            try await load.run {
                let victims = names.shuffled(using: &random).prefix(2)
                for name in victims {
                    await load.waitForAnswers(Int.random(in: 0...40, using: &random))
                    await servers[name]?.kill()
                }
                await load.waitForAnswers(1)
                for name in victims.shuffled(using: &random) { servers[name] = try await world.start(name) }
                await load.waitForAnswers(40)
            }
            try await load.check(world, Array(servers.values), context: ClusterCampaign.context)
        }
    }
}
