import Envelope
import Foundation
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport

/// Servers and a PostgreSQL whose clock moves on by hours and days.
@Suite(.fewAtATime) struct MovedClockTests {
    private static let hour = 3_600
    private static let day = 24 * hour

    @Test(arguments: [["one"], ["one", "two"]])
    func `after two lost hours a push from before them ends as restored, and one of that time is delivered`(names: [String]) async throws {
        let clock = try await PreloadedClock(in: TemporaryFolder())
        let primary = try await PostgreSQLProcess.start()
        try await clock.move(primary)
        let standby = try await primary.startStandby()
        let database = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
        try await withClusterWorld(names, database: database, clock: clock) { world in
            var servers: [ServerProcess] = []
            for name in names { servers.append(try await world.start(name)) }
            let phones = try Phones(of: world, clock: clock)
            try await phones.register()
            world.gorush.breakDown(.answer(status: 503), tokens: [phones.tokens[0]])
            try await phones.write(to: 0)
            try await world.waitForPushes(to: phones.owners[0], ["waiting"])
            let detachment = clock.wallClock.now()
            try await primary.detach(standby)
            try clock.pass(seconds: 2 * Self.hour)
            try await phones.write(to: 1)
            try await world.waitForPushes(to: phones.owners[1], ["sent"])

            await primary.kill()
            try await standby.promote()
            for server in servers { #expect(await server.exitCode == 75) }
            world.gorush.breakDown(nil)
            servers = []
            for name in names { servers.append(try await world.start(name)) }
            // The request is read again.
            _ = await world.gorush.waitForNotifications(count: 2)
            try await world.waitForPushes(to: phones.owners[1], ["sent"])
            #expect(world.gorush.notifications.all.map(\.tokens) == [[phones.tokens[1]], [phones.tokens[1]]])
            let push = try #require(try await world.pushes(to: phones.owners[0]).first)
            #expect(push.state == "expired" && push.reason == "restored")
            for server in servers {
                #expect(server.log.all.contains { $0.contains("pushes from before it have ended as restored") })
                let page = try await AdminClient(server).body(of: "/health/ready") { $0.contains("the database has gone back in time") }
                let lost = try #require(page.firstMatch(of: /what was written from (\S+) to (\S+) is lost/), "\(page)")
                let start = try Date(String(lost.output.1), strategy: .iso8601)
                let end = try Date(String(lost.output.2), strategy: .iso8601)
                #expect(end.timeIntervalSince(start) >= Double(2 * Self.hour - 1), "\(page)")
                // Seconds are cut off.
                #expect(start.timeIntervalSince1970 <= Double(detachment.nanoseconds) / 1e9 + Double(Self.hour), "\(page)")
            }
            try await world.audit()
            for server in servers { #expect(await server.terminate() == 0) }
        }
        await standby.stop()
    }

    /// BACKUP.md says so: a stopped server can't tell an older database from a long stop.
    @Test(arguments: [nil, "1h"])
    func `a server that was stopped posts what waits in an older database, unless its lifetime is over`(lifetime: String?) async throws {
        let clock = try await PreloadedClock(in: TemporaryFolder())
        let primary = try await PostgreSQLProcess.start()
        try await clock.move(primary)
        let standby = try await primary.startStandby()
        let database = PostgreSQLProcess.serverSettings(sockets: [primary.socket, standby.socket])
        try await withClusterWorld(["one"], database: database, clock: clock) { world in
            let server = try await world.start("one")
            let phones = try Phones(of: world, clock: clock)
            try await phones.register()
            world.gorush.breakDown(.answer(status: 503))
            try await phones.write(to: 0)
            try await world.waitForPushes(to: phones.owners[0], ["waiting"])
            try await primary.detach(standby)
            world.gorush.breakDown(nil)
            try await world.waitForPushes(to: phones.owners[0], ["sent"])
            #expect(await server.terminate() == 0)
            await primary.kill()
            try await standby.promote()

            try clock.pass(seconds: 2 * Self.hour)
            let successor = try await world.start("one", database: lifetime.map { ["gorush.pushLifetime": $0] } ?? [:])
            #expect(try await AdminClient(successor).get("/health/ready").body.contains("gone back in time") == false)
            if lifetime == nil {
                try await world.waitForPushes(to: phones.owners[0], ["sent"])
            } else {
                // The clock has made a step since the database's last reading, so nothing expires before ten minutes are over.
                #expect(await successor.log.wait { $0.contains("the wall clock has made a step") })
                try clock.pass(seconds: 3 * Self.hour)
                try await world.waitForPushes(to: phones.owners[0], ["expired"])
            }
            let posts = world.gorush.notifications.all
            #expect(posts.count == (lifetime == nil ? 2 : 1) && Set(posts.map(\.collapseIdentifier)).count == 1)
            try await world.audit()
            #expect(await successor.terminate() == 0)
        }
        await standby.stop()
    }

    @Test func `a week with pruning is no loss, nor are two days in which a server is alone`() async throws {
        let clock = try await PreloadedClock(in: TemporaryFolder())
        let postgres = try await PostgreSQLProcess.start()
        try await clock.move(postgres)
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings, clock: clock) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let phones = try Phones(of: world, clock: clock)
            try await phones.register()
            for halfDay in 1...14 {
                // A server that stands still leaves no mark.
                if halfDay == 5 { await servers[1].stop() }
                if halfDay == 9 { servers[1].signal(SIGCONT) }
                try clock.pass(seconds: halfDay * Self.day / 2)
                let livingCount = (5...8).contains(halfDay) ? 1 : 2
                let aliveAndUnpruned = [
                    ("server WHERE lease_ends > now() AND NOT is_fenced", livingCount),
                    ("last_write WHERE written_at < now() - interval '1 day'", 0),
                ]
                for (rows, count) in aliveAndUnpruned {
                    try await OpenWaits.during("\(count) of \(rows), in half day \(halfDay)") {
                        while try await world.number("count(*) FROM \(rows)") != count {
                            for server in servers { try #require(server.launched.isRunning, "\(server.log.all.suffix(5))") }
                            try Task.checkCancellation()
                        }
                    }
                }
            }
            try await phones.write(to: 0)
            try await world.waitForPushes(to: phones.owners[0], ["sent"])
            #expect(try await world.number("count(*) FROM lost_time") == 0)
            try await world.audit()
            for server in servers { #expect(await server.terminate() == 0) }
        }
        await postgres.stop()
    }

    /// Two phones, and who writes to them.
    private struct Phones {
        let owners: [ProtocolClient]
        let tokens = (0...1).map { String(repeating: "c\($0)", count: 32) }
        private let sender: ProtocolClient
        private let world: ClusterWorld
        private let network: BusMembership

        init(of world: ClusterWorld, clock: PreloadedClock) throws {
            let key = try world.identity.publicKey
            owners = (0...1).map { _ in ProtocolClient(server: key, clock: clock.wallClock) }
            sender = ProtocolClient(server: key, clock: clock.wallClock)
            self.world = world
            network = world.bus.attach(listener: Listener())
        }

        func register() async throws {
            for (owner, token) in zip(owners, tokens) {
                try await network.publish(owner.envelope(owner.registration(deviceToken: token)))
                try await OpenWaits.during("a registration") {
                    while try await world.version(of: owner) != 1 { try Task.checkCancellation() }
                }
            }
        }

        func write(to index: Int) async throws {
            try await network.publish(sender.envelope(sender.request([sender.notification(to: owners[index])])))
        }
    }
}
