import TestServers
import TestSupport
import Testing
import Wire

/// A server that rejects new installations (`registration.acceptNew: false`).
@Suite(.fewAtATime)
struct RetiringServerTests {
    @Test(arguments: TestDatabase.allCases)
    func `a retiring server refuses new installations and tombstones, and serves those that are registered`(
        database: TestDatabase
    ) async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let settings = ["gorush.url": await gorush.url]
            let before = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let world = try ServerWorld(before, in: folder, gorush)
            for client in [world.alice, world.carol] { #expect(try await world.register(client, version: 1) == nil) }
            #expect(try await world.register(world.carol, version: 2, unregisters: true) == nil)
            let start = try await ChildProcess.run("/bin/date", ["--utc", "+%FT%TZ"]).output
            #expect(await before.terminate() == 0)

            let server = try await ServerProcess.start(
                in: folder, on: database, settings: settings.merging(["registration.acceptNew": "false"]) { $1 })
            let retiring = ServerWorld(world, on: server)
            let dave = ProtocolClient(server: try serverKey(of: server))
            #expect(try await retiring.register(dave, version: 1) == .internalError)
            #expect(try await retiring.register(world.carol, version: 3) == .internalError)
            #expect(try await retiring.register(world.alice, version: 2) == nil)
            #expect(try await retiring.request() == nil)
            await gorush.waitForNotifications(count: 1)
            let renewed = try await retiring.pushctl("registrations", "--since", start, "--json")
            #expect(try renewed.decoded(as: [String: Int].self)["apn"] == 1)
            let none = try await retiring.pushctl("registrations", "--since", "2100-01-01", "--json")
            #expect(try none.decoded(as: [String: Int].self).values.allSatisfy { $0 == 0 })
            #expect(try await retiring.pushctl("registrations", "--since", "yesterday").exitCode == 64)

            #expect(try await retiring.register(world.alice, version: 3, unregisters: true) == nil)
            #expect(try await retiring.register(dave, version: 1, unregisters: true) == nil)
            #expect(try await retiring.register(world.alice, version: 4) == .internalError)
            let metrics = try await retiring.network.admin.get("/metrics").body
            #expect(metrics.contains("pushserver_messages_total{kind=\"registration\",result=\"not_accepted\"} 3\n"))
            #expect(await server.terminate() == 0)
        }
    }
}
