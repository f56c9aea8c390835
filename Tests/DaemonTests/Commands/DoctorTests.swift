import Foundation
import TestServers
import TestSupport
import Testing

/// `pushctl doctor` beside a running server, and beside one that is down: what it checks, in which order, and what it says.
@Suite(.fewAtATime)
struct DoctorTests {
    @Test func `the doctor reads from the admin endpoints whether accepted pushes are delivered`() async throws {
        try await withServerWorld(gorush: .init(isProduction: false)) { world async throws in
            let key = world.server.addresses.publicKey
            let admin = ["--admin", "http://\(world.server.addresses.admin)"]
            func doctor(_ more: [String]) async throws -> ChildProcess.Ended {
                let arguments = ["doctor", "--server", key, "--node", "http://\(world.server.addresses.relays[0])", "--timeout", "5m"]
                return try await ChildProcess.run("pushctl", arguments + more, environment: [:])
            }
            let healthy = try await doctor(admin)
            #expect(healthy.exitCode == 0 && healthy.output.contains("ok      delivery"), "\(healthy.output)\(healthy.error)")
            #expect(healthy.output.contains("warning             delivery ios: ios.production is false"))
            let unchecked = try await doctor([])
            #expect(unchecked.exitCode == 0 && unchecked.output.contains("accepted, delivery not checked"))
            let nobody = try await doctor(["--admin", "http://127.0.0.1:1"])
            #expect(nobody.exitCode == 1 && nobody.error.contains("http://127.0.0.1:1"))
            let stranger = try await ServerProcess.start(in: TemporaryFolder())
            let wrong = try await doctor(["--admin", "http://\(stranger.addresses.admin)"])
            #expect(wrong.exitCode == 1 && wrong.error.contains("another server's"))
            #expect(await stranger.terminate() == 0)

            world.gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            // Apple's word has unregistered her phone.
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(try await world.request() == nil)
            #expect(await world.server.log.wait { $0.contains("] pushes are not delivered ") })
            let broken = try await doctor(admin + ["--json"])
            #expect(broken.exitCode == 1 && broken.error.contains("The server is not ready: delivery ios"), "\(broken.error)")
            #expect(broken.output.contains(#""isDeliveryChecked" : true"#) && broken.output.contains(#""isHealthy" : false"#))
            // The log reports only conditions that last until the next check.
            #expect(await world.server.log.wait { $0.contains("] not ready ") })
            world.gorush.breakDown(nil)
            #expect(await world.server.log.wait { $0.contains("] ready again after=") })
        }
    }

    @Test func `the doctor checks all around the server, what is wrong first and with a remedy, and names what it cannot check`()
        async throws
    {
        try await withServerWorld { world async throws in
            let configuration = try await world.configuration("backup: { folder: backups }")
            let doctor = ["doctor", "--timeout", "5m"] + configuration
            let sick = try await ChildProcess.run("pushctl", doctor)
            #expect(sick.exitCode == 1 && sick.output.hasPrefix("failed  backup      there is none in "), "\(sick.output)\(sick.error)")
            #expect(sick.output.contains("\n        remedy      Look at the server's log") && sick.error.contains("there is none in"))
            #expect(sick.output.contains("\nunknown credentials not checked: ") && sick.output.contains("ok      push"))

            try FileManager.default.createDirectory(atPath: world.folder.path("backups"), withIntermediateDirectories: false)
            let name = try world.database.text("SELECT lower(hex(substr(public_key, 1, 4))) FROM identity")
            let time = Date.now.formatted(Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt))
            let file = world.folder.path("backups/pushserver-\(name)-\(time).sqlite")
            #expect(try await world.pushctl("backup", file).exitCode == 0)
            let healthy = try await ChildProcess.run("pushctl", doctor + ["--json"])
            #expect(healthy.exitCode == 0, "\(healthy.output)\(healthy.error)")
            let checks = try healthy.decoded(as: Checks.self).checks
            #expect(checks.filter { $0.state == "failed" }.isEmpty, "\(checks)")
            let names = ["settings", "files", "database", "disk", "backup", "network", "gorush", "address"]
            #expect(checks.filter { $0.state == "ok" }.map(\.name) == names, "\(checks)")

            try world.folder.write("no database", to: "backups/" + URL(filePath: file).lastPathComponent)
            world.gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            let broken = try await ChildProcess.run("pushctl", doctor + ["--json"]).decoded(as: Checks.self).checks
            #expect(broken.prefix { $0.state == "failed" }.map(\.name) == ["backup", "gorush"], "\(broken)")
            #expect(broken.filter { $0.state == "failed" }.allSatisfy { $0.remedy != nil })
            world.gorush.breakDown(nil)

            // The settings of a server say nothing about another one.
            let stranger = try await ServerProcess.start(in: TemporaryFolder())
            let other = try await ChildProcess.run(
                "pushctl",
                doctor + ["--json", "--server", stranger.addresses.publicKey, "--node", "http://\(stranger.addresses.relays[0])"]
            ).decoded(as: Checks.self).checks
            #expect(other.map(\.name) == ["settings", "files"] && other.last?.text.contains("another server's") == true, "\(other)")
            #expect(await stranger.terminate() == 0)
        }
    }

    @Test func `the doctor checks a Waku node and PostgreSQL, and whatever else it can while the server is down`() async throws {
        try await withServerWorld(on: .postgresql) { world async throws in
            try world.folder.write(
                """
                identity: { keyFile: identity.key }
                storage: { kind: postgresql, url: "\(world.database.location)", path: push.sqlite, sealingKeyFile: sealing.key }
                transport: { kind: waku, waku: { urls: ["http://\(world.server.addresses.relays[0])", "http://127.0.0.1:1"] } }
                admin: { listen: 127.0.0.1:1 }
                """, to: "pushserver.yaml")
            let doctor = ["doctor", "--timeout", "5m", "--json", "--config", world.folder.path("pushserver.yaml")]
            let ended = try await ChildProcess.run("pushctl", doctor)
            #expect(ended.exitCode == 1, "\(ended.error)")
            let checks = try ended.decoded(as: Checks.self).checks
            func names(_ state: String) -> [String] { checks.filter { $0.state == state }.map(\.name) }
            #expect(names("failed") == ["node", "address"] && names("warning") == ["gorush"], "\(checks)")
            #expect(names("ok") == ["settings", "files", "database", "node", "clock", "store"], "\(checks)")
            #expect(names("notChecked") == ["disk", "backup"], "\(checks)")
        }
    }

    @Test(arguments: [(50, "ahead of"), (-50, "behind"), (0, nil)] as [(Int, String?)])
    func `the doctor names a clock of its machine that is wrong`(seconds: Int, side: String?) async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        let clock = try await PreloadedClock(in: folder)
        try clock.step(seconds: seconds)
        let arguments = [
            "doctor", "--server", server.addresses.publicKey, "--node", "http://\(server.addresses.relays[0])", "--timeout", "5m",
        ]
        let ended = try await ChildProcess.run("pushctl", arguments, environment: clock.environment)
        #expect(ended.exitCode == 0, "\(ended.output)\(ended.error)")
        let warning = ended.output.firstMatch(of: /\nwarning             This machine's clock is \d+ s (.+) the node's: set it\./)
        #expect(warning?.output.1 == side.map { $0[...] }, "\(ended.output)")
        #expect(await server.terminate() == 0)
    }

    @Test func `the doctor waits for the outcome of its push and prints Apple's reason and a remedy`() async throws {
        try await withServerWorld { world async throws in
            let token = String(repeating: "ab", count: 32)
            let arguments = [
                "doctor", "--server", world.server.addresses.publicKey, "--node", "http://\(world.server.addresses.relays[0])",
                "--timeout", "5m", "--admin", "http://\(world.server.addresses.admin)", "--device-token", token, "--token-type", "apn",
                "--bundle-id", "im.status.ethereum",
            ]
            let healthy = try await ChildProcess.run("pushctl", arguments, environment: [:])
            #expect(healthy.exitCode == 0 && healthy.output.contains("ok      outcome"), "\(healthy.output)\(healthy.error)")
            for (words, remedy) in [("Unregistered", "removed from the device"), ("BadDeviceToken", "ios.production")] {
                world.gorush.fail(token: token, with: words)
                let refused = try await ChildProcess.run("pushctl", arguments, environment: [:])
                #expect(refused.exitCode == 1 && refused.output.contains(words) && refused.error.contains(remedy), "\(refused.error)")
                #expect(!refused.output.contains(token) && !refused.error.contains(token))
            }
            // It gives up at once, because nothing is delivered to any device.
            world.gorush.fail(token: token, with: nil)
            world.gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            // Apple's word has unregistered her phone, if it was registered.
            #expect(try await world.register(world.alice, version: 2) == nil)
            #expect(try await world.request() == nil)
            #expect(await world.server.log.wait { $0.contains("] pushes are not delivered ") })
            let waiting = try await ChildProcess.run("pushctl", arguments, environment: [:])
            #expect(waiting.exitCode == 1 && waiting.output.contains("a proxy answers 503 instead of gorush"), "\(waiting.output)")
            #expect(waiting.error.contains("look at the proxy's log"), "\(waiting.error)")
            world.gorush.breakDown(nil)
        }
    }

    private struct Checks: Decodable {
        struct Check: Decodable {
            var name: String
            var state: String
            var text: String
            var remedy: String?
        }

        var checks: [Check]
    }
}
