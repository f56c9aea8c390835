import TestServers
import TestSupport
import Testing

/// Two servers on one database under load. The test takes the node or the database from one of them.
@Suite(.fewAtATime) struct PartitionTests {
    @Test func `a server without its node is not ready, and hands its messages over until the node is back`() async throws {
        try await withClusterWorld(["one", "two"]) { world in
            let (one, two) = (try await world.start("one"), try await world.start("two"))
            let load = ClusterLoad(server: try serverKey(of: one), on: world.bus)
            try await load.run {
                await load.waitForAnswers(20)
                await world.nodes[0].kill()
                try await one.waitUntilNotReady(because: "node \(world.nodes[0].name)")
                try await world.waitForCluster { $0.contains("one (1): leaving") }
            }
            // The other server has replied to all messages.
            try await two.expectReadiness(200)
            await world.nodes[0].start()
            #expect(await one.log.wait { $0.contains(" warning [Daemon] ready again after=") })
            try await world.waitForCluster { $0.contains("one (1): alive") }
            try await load.run { await load.waitForAnswers(40) }
            try await load.check(world, [one, two])
        }
    }

    @Test func `a server without its database is fenced, and joins again when the database is back`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        let gate = try SocketGate(to: postgres.socket)
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let one = try await world.start("one", database: PostgreSQLProcess.serverSettings(sockets: [gate.socket]))
            let two = try await world.start("two")
            let load = ClusterLoad(server: try serverKey(of: one), on: world.bus)
            try await load.run {
                await load.waitForAnswers(20)
                gate.close()
                try await one.waitUntilNotReady(because: "the store could not be written")
                try await two.expectReadiness(200)
            }
            // The other server has replied to all messages.
            try await world.waitForCluster { $0.contains("one (1): fenced") }
            try await ClusterCampaign.prolongInterruption()
            gate.open()
            // The server has another number once it has joined again.
            try await world.waitForCluster { $0.contains("one (3): alive") }
            #expect(await one.log.wait { $0.contains(" warning [Daemon] ready again after=") })
            try await load.run { await load.waitForAnswers(40) }
            try await load.check(world, [one, two])
        }
        await postgres.stop()
    }
}
