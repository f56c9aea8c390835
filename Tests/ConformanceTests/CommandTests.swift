import Bytes
import Foundation
import ServerFiles
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// `pushctl conformance` as its users see it: arguments, two streams and an exit code.
@Suite(.fewAtATime)
struct CommandTests {
    private static let someKey = "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

    private func pushctl(_ arguments: [String]) async throws -> ChildProcess.Ended {
        try await ChildProcess.run("pushctl", ["conformance"] + arguments)
    }

    @Test func `prints the verdicts as a table, and writes them as JUnit XML`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        let arguments = [
            "--server", server.addresses.publicKey, "--node", "http://\(server.addresses.relays[0])", "--timeout", "60m", "--seed", "7",
        ]
        let two = ["--only", "register.ios", "--only", "delivery.ios"]
        let ended = try await pushctl(arguments + two + ["--junit", folder.path("junit.xml")])
        #expect(ended.exitCode == 0, "\(ended.error)")
        #expect(
            ended.output == """
                pass     register.ios  must    Handle Errors                A registration of an iOS device is a success.
                skipped  delivery.ios  must    Handle Notification Request  A push to an iOS device is posted to gorush once, \
                with platform 1, the device token, the apn_topic and a text.

                2 rules: 1 pass, 0 fail, 0 depart as the reference does. 1 skipped: they need --gorush-stub, \
                --restart, a second --pubsub-topic, or what the server may leave out.
                The seed of this run is 7.
                """)
        let xml = try String(contentsOfFile: folder.path("junit.xml"), encoding: .utf8)
        #expect(xml.contains("<testcase classname=\"register\" name=\"ios\"") && xml.contains("skipped=\"1\""))

        // The seed repeats, and the server has seen the version.
        let again = try await pushctl(arguments + ["--only", "version.gap"])
        #expect(again.exitCode == 0, "\(again.error)")
        let repeated = try await pushctl(arguments + ["--only", "version.gap"])
        #expect(repeated.exitCode == 1, "\(repeated.output)")
    }

    @Test func `ends with 1 and names the rules if one fails`() async throws {
        var behaviour = Behaviour()
        behaviour.tells = { info, _ in info.installationID = "" }
        let ended = try await withModel(behaviour) { key, url, _ in
            try await pushctl(["--server", key, "--node", url, "--timeout", "60m", "--only", "query.info", "--only", "query.topic"])
        }
        #expect(ended.exitCode == 1)
        #expect(ended.output.contains("fail     query.info   must    PushNotificationQueryInfo"))
        #expect(ended.output.contains("^ another installation_id than the registered one (PROTOCOL.md §8)"))
        #expect(ended.output.contains("“`grant`: the grant used to register with this server.”"))
        #expect(ended.output.contains("         installation ") && ended.output.contains(", topic /waku/1/0x"))
        #expect(ended.error == "pushctl: 1 of 2 rules fail: query.info")
    }

    @Test func `says which topic a server reads if it does not reply on the one that clients use`() async throws {
        var behaviour = Behaviour()
        behaviour.listens = { $0 != .partitioned }
        let ended = try await withModel(behaviour) { key, url, _ in
            try await pushctl(["--server", key, "--node", url, "--timeout", "500ms"])
        }
        #expect(ended.exitCode == 69)
        #expect(ended.error.contains("Heard: the reply to the registration on the server's personal topic: it does not read the other one"))
    }

    @Test func `a second shard has rules of its own, and a third is one too many`() async throws {
        var behaviour = Behaviour()
        // The model has no gorush here.
        behaviour.posts = { pushes, _ in pushes = [] }
        let ended = try await withModel(behaviour) { key, url, _ in
            let arguments = ["--server", key, "--node", url, "--timeout", "60m", "--only", "shard"]
            return try await pushctl(arguments + [TestNode.topic, TestNode.secondTopic].flatMap { ["--pubsub-topic", $0] })
        }
        #expect(ended.exitCode == 0 && ended.output.contains("2 rules: 2 pass"), "\(ended.output) \(ended.error)")
        let third = try await pushctl(["--server", Self.someKey] + (1...3).flatMap { ["--pubsub-topic", "/waku/2/rs/16/\($0)"] })
        #expect(third.exitCode == 64 && third.error.contains("two shards at most"), "\(third.error)")
    }

    @Test func `a departure is a failure if it should be`() async throws {
        var behaviour = Behaviour()
        behaviour.tells = { info, _ in info.serverPublicKey = [] }
        for (strict, exitCode) in [([], 0), (["--strict", "departs"], 1)] as [([String], Int32)] {
            let ended = try await withModel(behaviour) { key, url, _ in
                try await pushctl(["--server", key, "--node", url, "--timeout", "60m", "--only", "query.server-key"] + strict)
            }
            #expect(ended.exitCode == exitCode, "\(ended.output) \(ended.error)")
        }
    }

    @Test func `judges what pushctl sends, and names the input of a wrong grant`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder, settings: ["log.level": "debug"])
        let url = "http://\(server.addresses.relays[0])"
        let environment = [
            "PUSHCTL_NODE": url, "PUSHCTL_SERVER": server.addresses.publicKey, "PUSHCTL_KEY_FILE": folder.path("alice.key"),
            "HOME": folder.path(""),
        ]
        func client() async throws -> ChildProcess.Ended {
            try await pushctl(["client", "--own-node", url, "--server-key-file", folder.path("identity.key"), "--for", "1ms"])
        }
        #expect(try await client().exitCode == 69)
        let owner = try await ChildProcess.run(
            "pushctl", ["register", "--device-token", "token", "--token-type", "firebase"], environment: environment)
        #expect(owner.exitCode == 0, "\(owner.error)")
        let key = try #require(try KeyFile(path: folder.path("alice.key")).load()).publicKey.description
        #expect(try await ChildProcess.run("pushctl", ["query", "--owner", key], environment: environment).exitCode == 0)
        #expect(try await ChildProcess.run("pushctl", ["push", "--to", key], environment: environment).exitCode == 0)
        let right = try await client()
        #expect(right.exitCode == 0, "\(right.output) \(right.error)")
        #expect(right.output.contains("right  registration") && right.output.contains("right  push request"))

        _ = try await pushctl(["--server", server.addresses.publicKey, "--node", url, "--only", "refusal.grant-token"])
        let wrong = try await client()
        #expect(wrong.exitCode == 1)
        #expect(wrong.output.contains("       ^ grant is over the earlier access token; expected a signature of keccak256"))
        #expect(wrong.output.contains("(71 \"Server Grant\", PROTOCOL.md §7 row 8)"))
        #expect(
            await server.log.wait {
                $0.contains("registration rejected") && $0.contains("grant is not the client's signature for this server and access_token")
            })
    }

    @Test func `says in a sentence that a node is absent, a server silent, a rule unknown or a port in use`() async throws {
        let absent = try await pushctl(["--server", Self.someKey, "--node", "http://127.0.0.1:1"])
        #expect(absent.exitCode == 69)
        #expect(absent.error.contains("cannot use the node at http://127.0.0.1:1") && absent.error.contains("Is a node running there?"))

        let unknown = try await pushctl(["--server", Self.someKey, "--only", "query.inf"])
        #expect(unknown.exitCode == 64 && unknown.error.contains("There is no rule and no group “query.inf”"))

        try await withModel(Behaviour()) { _, url, _ in
            let silent = try await pushctl(["--server", Self.someKey, "--node", url, "--timeout", "10ms"])
            #expect(silent.exitCode == 69)
            #expect(silent.error.contains("No server: no reply arrived to a registration on the server's partitioned topic (/waku/1/0x"))
            #expect(silent.error.contains("then on the server's personal topic") && silent.error.contains("Heard: nothing"))

            let taken = try await pushctl(
                ["--server", Self.someKey, "--node", url, "--gorush-stub", String(url.dropFirst("http://".count))])
            #expect(taken.exitCode == 78)
            #expect(taken.error.contains("--gorush-stub: cannot listen on 127.0.0.1:"))
        }
    }
}
