import Foundation
import TestServers
import TestSupport
import Testing

/// `pushctl nextcloud` and `pushctl softphone`, against a server with gateways.
@Suite(.fewAtATime)
struct GatewayToolTests {
    private let folder = try? TemporaryFolder()

    private func run(_ arguments: String..., gateway: String) async throws -> ChildProcess.Ended {
        var environment = ChildProcess.environment
        environment["PUSHCTL_GATEWAY"] = gateway
        return try await ChildProcess.run("pushctl", arguments, environment: environment)
    }

    private func withGateway(_ test: (String, StubGorush) async throws -> Void) async throws {
        try await GatewaysTests.withServer { client, stub, _ async throws in try await test(client.url, stub) }
    }

    @Test(arguments: TestDatabase.allCases) func `an operator sees the number of devices`(database: TestDatabase) async throws {
        try await GatewaysTests.withServer(on: database) { client, _, server async throws in
            try await GatewaysTests.register("alice_talk_ios", "alice_files_android", with: client)
            let counted = try await server.pushctl(["registrations"])
            #expect(counted.output.contains("nextcloud     2"), "\(counted)")
        }
    }

    @Test(arguments: ["oaep", "pkcs1"])
    func `a simulated device registers, receives and decrypts a notification, and unregisters`(padding: String) async throws {
        let device = try #require(folder).path("phone.json")
        let token = String(repeating: "a1", count: 32)
        try await withGateway { gateway, stub in
            let registered = try await run(
                "nextcloud", "register", "--device", device, "--push-token", token, "--cloud-id", "bob@cloud.example.com", gateway: gateway)
            #expect(registered.exitCode == 0 && registered.output.contains("bob@cloud.example.com"), "\(registered)")
            let mode = try FileManager.default.attributesOfItem(atPath: device)[.posixPermissions] as? Int
            #expect(mode == 0o600)

            let notified = try await run(
                "nextcloud", "notify", "--device", device, "--subject", "Lunch?", "--padding", padding, gateway: gateway)
            #expect(notified.exitCode == 0 && notified.output == "accepted", "\(notified)")
            let notification = try #require(await stub.waitForNotifications(count: 1).first)
            #expect(notification.tokens == [token])

            // The second line is for another device, and the third is no notification.
            let data = try JSONEncoder().encode(["data": notification.data])
            let lines = [String(decoding: data, as: UTF8.self), #"{"data":{"subject":"AAAA","signature":"AAAA"}}"#, "?"]
            let file = try #require(folder).path("pushes")
            try lines.joined(separator: "\n").write(toFile: file, atomically: true, encoding: .utf8)
            let received = try await run("nextcloud", "listen", "--device", device, file, gateway: gateway)
            #expect(received.output == #"{"app":"spreed","id":"1","nid":1,"subject":"Lunch?","type":"chat"}"#, "\(received)")

            #expect(try await run("nextcloud", "unregister", "--device", device, gateway: gateway).exitCode == 0)
            let unknown = try await run("nextcloud", "notify", "--device", device, gateway: gateway)
            #expect(unknown.exitCode == 1 && unknown.error.contains("does not know the device"), "\(unknown)")
        }
    }

    @Test func `a softphone is notified, and a dead token is reported as a failure`() async throws {
        try await withGateway { gateway, stub in
            let (alive, dead) = (String(repeating: "a1", count: 32), String(repeating: "d1", count: 32))
            stub.fail(token: dead, with: "Unregistered")
            let send = ["softphone", "send", "--app-id", "com.example.softphone.ios", "--message", "Hello"]
            func push(_ token: String) async throws -> ChildProcess.Ended {
                try await ChildProcess.run("pushctl", send + ["--device-token", token, "--gateway", gateway])
            }
            #expect(try await push(alive).exitCode == 0)
            let failed = try await push(dead)
            #expect(failed.exitCode == 1 && failed.output.hasPrefix("404"), "\(failed)")
        }
    }

    @Test func `a failed command explains itself and does not change the device`() async throws {
        let folder = try #require(folder)
        let device = folder.path("phone.json")
        // Port 1 has no listener.
        let nobody = "http://127.0.0.1:1"
        let absent = try await run("nextcloud", "notify", "--device", device, gateway: nobody)
        #expect(absent.exitCode == 78 && absent.error.contains(device))
        let silent = try await run("nextcloud", "register", "--device", device, "--push-token", "x", gateway: nobody)
        #expect(silent.exitCode == 69 && silent.error.contains(nobody))
        #expect(!FileManager.default.fileExists(atPath: device))
        try await withGateway { gateway, _ in
            let refused = try await run("nextcloud", "register", "--device", device, "--push-token", "short", gateway: gateway)
            #expect(refused.exitCode == 1 && refused.error.contains("400"), "\(refused)")
        }
        try folder.write("{}", to: "phone.json", mode: 0o600)
        let foreign = try await run("nextcloud", "unregister", "--device", device, gateway: nobody)
        #expect(foreign.exitCode == 78 && foreign.error.contains("pushctl nextcloud register"))
    }
}
