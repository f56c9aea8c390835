import TestServers
import TestSupport
import Testing

/// `pushctl hold` and `pushctl resume` beside a running server, as an operator uses them.
@Suite(.fewAtATime)
struct HoldTests {
    @Test(arguments: TestDatabase.allCases)
    func `a held platform gets no push, also after a restart, until it is resumed`(database: TestDatabase) async throws {
        try await withStubGorush { gorush in
            let folder = try TemporaryFolder()
            let settings = ["gorush.url": await gorush.url]
            let first = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let world = try ServerWorld(first, in: folder, gorush)
            #expect(try await world.register(world.alice, version: 1) == nil)
            let held = try await world.pushctl("hold", "ios", "--for", "1h")
            #expect(held.exitCode == 0 && held.output.hasPrefix("held until "), "\(held.output)\(held.error)")
            try await Self.expectHeld(world)
            #expect(try await world.request() == nil)
            try await world.database.wait(for: "push WHERE finished_at IS NULL") { $0 == 1 }
            #expect(await first.terminate() == 0)

            let second = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let restarted = ServerWorld(world, on: second)
            try await Self.expectHeld(restarted)
            #expect(gorush.notifications.all.isEmpty)
            let resumed = try await restarted.pushctl("resume", "ios")
            #expect(resumed.exitCode == 0 && resumed.output == "resumed: ios", "\(resumed.output)\(resumed.error)")
            await gorush.waitForNotifications(count: 1)
            try await restarted.network.admin.body(of: "/metrics") { $0.contains(#"pushserver_route_held{route="ios"} 0"#) }
            #expect(try await !restarted.network.admin.get("/health/ready").body.contains("held by an operator"))
            #expect(try await restarted.pushctl("resume", "ios").output == "nothing was held")
            #expect(await second.terminate() == 0)
            try await second.audit()
        }
    }

    /// Waits until the server has noticed the hold, and expects that it says so everywhere, and is ready.
    private static func expectHeld(_ world: ServerWorld) async throws {
        let admin = world.network.admin
        try await admin.body(of: "/metrics") { $0.contains(#"pushserver_route_held{route="ios"} 1"#) }
        let ready = try await admin.body(of: "/health/ready") { $0.contains("delivery ios: held by an operator: from ") }
        #expect(ready.contains(#""ready":true"#), "\(ready)")
        let page = try await admin.body(of: "/") { $0.contains("the hold ends in ") }
        #expect(page.contains("iOS: held by an operator"))
        let top = try await ChildProcess.run("pushctl", ["top", "--admin", "http://\(world.server.addresses.admin)"])
        #expect(top.output.contains("ios held by an operator, the hold ends in "), "\(top.output)")
        #expect(top.output.contains("delivery ios: held by an operator"), "\(top.output)")
    }

    @Test func `a wrong name is told which there are, and a wrong time the greatest`() async throws {
        try await withServerWorld { world async throws in
            try world.folder.write(
                "gorush: { url: 'http://127.0.0.1:1', pushLifetime: 90m, routes: { beta: { apnTopics: [org.beta] } } }\n", to: "routes.yaml"
            )
            let config = ["--config", world.folder.path("routes.yaml")]
            func hold(_ name: String, _ time: String) async throws -> ChildProcess.Ended {
                try await world.server.pushctl(["hold", name, "--for", time] + config)
            }
            let unknown = try await hold("web", "1h")
            #expect(unknown.exitCode == 64 && unknown.error.contains("There are android, beta, ios."), "\(unknown.error)")
            for time in ["46m", "0s", "soon", "500ms", "-5m"] {
                let wrong = try await world.server.pushctl(["hold", "ios", "--for=\(time)"] + config)
                #expect(wrong.exitCode == 64 && wrong.error.contains("from 1s to 45m"), "\(wrong.error)")
            }
            #expect(try await world.server.pushctl(["hold", "ios"] + config).exitCode == 64)
            #expect(try world.database.count("route_hold") == 0)
            #expect(try await hold("ios", "45m").output.contains("Z: beta, ios. "))
            #expect(try await hold("beta", "1s").exitCode == 0)
            #expect(try world.database.count("route_hold") == 2)
        }
    }

    @Test func `no route is held while a server of another version shares the database`() async throws {
        try await withServerWorld(on: .postgresql) { world async throws in
            try world.database.execute("UPDATE server SET version = '0.2.9' WHERE NOT is_fenced")
            let refused = try await world.pushctl("hold", "ios", "--for", "1h")
            #expect(refused.exitCode == 1 && refused.error.contains("tested (0.2.9)"), "\(refused.error)")
            #expect(try world.database.count("route_hold") == 0)
        }
    }
}
