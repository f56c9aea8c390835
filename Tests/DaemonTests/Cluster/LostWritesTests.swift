import Bytes
import Envelope
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport

/// Servers on a PostgreSQL whose standby is promoted before it has the newest writes.
@Suite(.fewAtATime) struct LostWritesTests {
    @Test(arguments: [["one"], ["one", "two"]])
    func `servers end with 75, and what the node's store has of the lost time is there after their next start`(
        names: [String]
    ) async throws {
        let primary = try await PostgreSQLProcess.start()
        let standby = try await primary.startStandby()
        let database = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
        try await withClusterWorld(names, database: database) { world in
            var servers: [ServerProcess] = []
            for name in names { servers.append(try await world.start(name)) }
            let (alice, bob, carol) = try Self.clients(of: world)
            let network = world.bus.attach(listener: Listener())
            try await network.publish(alice.envelope(alice.registration(version: 1)))
            try await Self.wait(for: 1, of: alice, in: world)

            try await primary.detach(standby)
            try await network.publish(alice.envelope(alice.registration(version: 2)))
            try await network.publish(carol.envelope(carol.registration(version: 1)))
            try await Self.wait(for: 2, of: alice, in: world)
            try await Self.wait(for: 1, of: carol, in: world)
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            _ = await world.gorush.waitForNotifications(count: 1)

            await primary.kill()
            try await standby.promote()
            for server in servers {
                #expect(await server.exitCode == 75)
                #expect(server.log.all.contains { $0.contains("ending at once") && $0.contains("gone back in time") }, "\(server.log.all)")
            }
            #expect(try await world.version(of: alice) == 1)
            #expect(try await world.version(of: carol) == nil)

            servers = []
            for name in names { servers.append(try await world.start(name)) }
            try await Self.wait(for: 2, of: alice, in: world)
            try await Self.wait(for: 1, of: carol, in: world)
            for server in servers {
                try await AdminClient(server).body(of: "/health/ready") { $0.contains("the database has gone back in time: what was") }
                try await AdminClient(server).body(of: "/metrics") { $0.contains("pushserver_database_lost_times_total 1") }
            }
            // The request is read again too, so the push rings a second time.
            _ = await world.gorush.waitForNotifications(count: 2)
            try await OpenWaits.during("the end of all pushes") {
                while try await world.number("count(*) FROM push WHERE finished_at IS NULL") != 0 { try Task.checkCancellation() }
            }
            try await world.audit()
            for server in servers { #expect(await server.launched.terminate() == 0) }
        }
        await standby.stop()
    }

    /// Clients whose messages the node's store keeps.
    private static func clients(of world: ClusterWorld) throws -> (ProtocolClient, ProtocolClient, ProtocolClient) {
        let key = try world.identity.publicKey
        func client() -> ProtocolClient { ProtocolClient(server: key, clock: .system) }
        return (client(), client(), client())
    }

    /// Returns when a client's registration has a version.
    private static func wait(for version: UInt64, of client: ProtocolClient, in world: ClusterWorld) async throws {
        try await OpenWaits.during("version \(version) of a registration") {
            while try await world.version(of: client) != version { try Task.checkCancellation() }
        }
    }
}
