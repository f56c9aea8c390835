import Bytes
import Foundation
import PushClient
import PushClientTesting
import PushProtocol
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

/// `pushctl` as its users see it: a process with arguments, an environment, two streams and an exit code.
@Suite(.fewAtATime)
struct CommandTests {
    private let folder: TemporaryFolder
    private var keyFile: String { folder.path("key") }
    private let server = PushClient.PublicKey(PrivateKey.test(1).publicKey).compressedHex

    init() throws {
        folder = try TemporaryFolder()
    }

    @Test func `a device is registered, queried, notified and unregistered, and every result is JSON`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let environment = ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile]
            func pushctl(_ arguments: String...) async throws -> ChildProcess.Ended { try await run(arguments + ["--json"], environment) }

            let registered = try await pushctl("register", "--device-token", "token", "--token-type", "firebase")
            #expect(registered.exitCode == 0)
            #expect(registered.error.contains("Created a key in \(keyFile)"))
            let receipt = try registered.receipt()
            let permissions = try FileManager.default.attributesOfItem(atPath: keyFile)[.posixPermissions] as? Int
            #expect(permissions == 0o600)

            let queried = try await pushctl("query", "--owner", receipt.publicKey)
            let devices = try queried.decoded(as: [Device].self)
            let expected = Device(
                installationID: receipt.installationID, accessToken: try #require(receipt.accessToken), version: receipt.version,
                grant: "verified")
            #expect(devices == [expected])

            let pushed = try await pushctl("push", "--to", receipt.publicKey, "--chat", "status", "--type", "request-to-join")
            #expect(try pushed.decoded(as: Pushed.self).reports.map(\.outcome) == ["accepted"])

            let refused = try await pushctl(
                "push", "--to", receipt.publicKey, "--installation", receipt.installationID, "--access-token", "wrong")
            #expect(refused.exitCode == 1)
            #expect(try refused.decoded(as: Pushed.self).reports.map(\.outcome) == ["WRONG_TOKEN"])

            let unregistered = try await pushctl("unregister")
            #expect(unregistered.exitCode == 0)
            #expect(try unregistered.receipt().installationID == receipt.installationID)

            let unknown = try await pushctl("query", "--owner", receipt.publicKey, "--timeout", "1ms")
            #expect(unknown.exitCode == 1)
            #expect(unknown.error.contains("The server knows nobody under that key."))
            #expect(unknown.output.isEmpty)
        }
    }

    @Test func `a device is advertised, and watch shows the messages for a key`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let environment = ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile]
            #expect(try await run(["advertise"], environment).exitCode == 78)
            let key = try await run(["keys", "--new", "--json"], environment).decoded(as: Key.self)
            #expect(try await run(["advertise"], environment).exitCode == 1)
            #expect(try await run(["register", "--device-token", "token", "--token-type", "firebase"], environment).exitCode == 0)
            let advertised = try await run(["advertise", "--json"], environment)
            #expect(advertised.exitCode == 0)

            let watched = try await run(["watch", "--since", "1m", "--for", "1ms", "--json"], environment)
            let messages = try watched.lines(as: Watched.self)
            #expect(
                Set(messages.map(\.type)) == [
                    "PUSH_NOTIFICATION_REGISTRATION_RESPONSE", "PUSH_NOTIFICATION_QUERY", "CONTACT_CODE_ADVERTISEMENT",
                ])
            let told = try await run(["watch", "--public-key", key.publicKey, "--since", "1m", "--for", "1ms", "--json"], environment)
            #expect(try Set(told.lines(as: Watched.self).map(\.topic)) == ["contact code", "query", "query, 0x"])
        }
    }

    @Test func `a repeated registration has a higher version, and the same access token until a contact is removed`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            let contact = try Identity(privateKeyHex: String(repeating: "7a", count: 32)).publicKey.hex
            func pushctl(_ arguments: [String]) async throws -> Receipt {
                let ended = try await run(
                    arguments + ["--json"], ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile])
                #expect(ended.exitCode == 0, "\(ended.error)")
                return try ended.receipt()
            }
            func register(_ options: String...) async throws -> Receipt {
                try await pushctl(["register", "--device-token", "token", "--token-type", "firebase"] + options)
            }
            let first = try await register()
            let again = try await register()
            #expect(again.number > first.number && again.accessToken == first.accessToken)
            #expect(fake.requests.count == 2)

            let forContacts = try await register("--contact", contact)
            #expect(forContacts.accessToken != first.accessToken)
            #expect(try await register("--contact", contact).accessToken == forContacts.accessToken)
            let forAll = try await register()
            #expect(forAll.accessToken == forContacts.accessToken)

            // Another installation of the same key is another device.
            #expect(try await register("--installation", "tablet").accessToken != forAll.accessToken)
            #expect(fake.registrations.count == 2)

            let unregistered = try await pushctl(["unregister"])
            #expect(unregistered.number > forAll.number && unregistered.installationID == first.installationID)
            #expect(try await pushctl(["unregister"]).number > unregistered.number)
            let back = try await register()
            #expect(back.number > unregistered.number && back.accessToken == forAll.accessToken)

            let permissions = try FileManager.default.attributesOfItem(atPath: keyFile + ".state")[.posixPermissions] as? Int
            #expect(permissions == 0o600)
        }
    }

    @Test func `an unreachable server does not keep a device from another one, and an unusable state exits with 78`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            func register(_ server: String, _ options: String...) async throws -> ChildProcess.Ended {
                try await run(
                    [
                        "register", "--server", server, "--node", url, "--timeout", "1ms", "--device-token", "token", "--token-type",
                        "firebase",
                    ]
                        + options, ["PUSHCTL_KEY_FILE": keyFile])
            }
            let gone = PushClient.PublicKey(PrivateKey.test(2).publicKey).hex
            #expect(try await register(gone).exitCode == 1)
            fake.fault = nil
            let registered = try await run(
                ["register", "--server", server, "--node", url, "--device-token", "token", "--token-type", "firebase"],
                ["PUSHCTL_KEY_FILE": keyFile])
            #expect(registered.exitCode == 0 && fake.registrations.count == 1)
            let unusable = try await register(server, "--state", folder.path("no/such/folder"))
            #expect(unusable.exitCode == 78 && unusable.error.contains("--state"))
        }
    }

    @Test func `several servers get the same registration, and a refusal by one does not affect the others`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            let silent = PushClient.PublicKey(PrivateKey.test(2).publicKey).hex
            let arguments = ["--server", silent, "--server", server, "--timeout", "10ms", "--node", url, "--key-file", keyFile, "--json"]
            let registered = try await run(["register", "--device-token", "token", "--token-type", "firebase"] + arguments)
            #expect(registered.exitCode == 1 && registered.error.contains("did not reply"))
            #expect(try registered.failure() == .init(code: "failed", reason: "noReply", server: silent))
            #expect(try registered.receipt().accessToken == fake.registrations.first?.accessToken.text)
            #expect(try await run(["query", "--owner", server] + arguments).exitCode == 64)
            #expect(try await run(["unregister"] + arguments).exitCode == 1)
            #expect(fake.registrations.isEmpty)
        }
    }

    @Test func `without a server option, an owner is found and notified as by an app, also by contacts with their own key`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let contact = String(repeating: "7a", count: 32)
            let registered = try await run(
                [
                    "register", "--device-token", "token", "--token-type", "firebase", "--json", "--contact",
                    try Identity(privateKeyHex: contact).publicKey.hex,
                ], ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile])
            let receipt = try registered.receipt()
            let environment = ["PUSHCTL_NODE": url, "PUSHCTL_KEY": contact]
            let queried = try await run(["query", "--owner", receipt.publicKey, "--json"], environment)
            #expect(try queried.decoded(as: [Device].self).map(\.accessToken) == [receipt.accessToken])
            let pushed = try await run(["push", "--to", receipt.publicKey, "--json"], environment)
            #expect(try pushed.decoded(as: Pushed.self).reports.map(\.outcome) == ["accepted"])
            let stranger = try await run(["push", "--to", receipt.publicKey, "--json"], ["PUSHCTL_NODE": url])
            #expect(stranger.exitCode == 1)
            #expect(try stranger.decoded(as: Pushed.self).reports.map(\.outcome) == ["unknown"])
        }
    }

    @Test func `the doctor finds a healthy server healthy, and unregisters its test device`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            let ended = try await run(["doctor", "--node", url, "--server", server, "--json"])
            #expect(ended.exitCode == 0)
            let checkup = try ended.decoded(as: Checkup.self)
            #expect(checkup.isHealthy && checkup.steps.map(\.name) == ["node", "register", "query", "push", "unregister"])
            #expect(fake.registrations.isEmpty && fake.pushes.isEmpty && fake.requests.count == 4)
            #expect(try await run(["doctor", "--node", url, "--server", server]).output.contains("ok      push"))
        }
    }

    @Test func `the doctor has a given device notified once`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            let token = String(repeating: "ab", count: 32)
            let ended = try await run([
                "doctor", "--node", url, "--server", server, "--token-type", "apn", "--bundle-id", "org.example", "--device-token", token,
            ])
            #expect(ended.exitCode == 0)
            #expect(fake.pushes.map(\.deviceToken.text) == [token] && fake.pushes.map(\.apnTopic) == ["org.example"])
            #expect(fake.registrations.isEmpty && !ended.output.contains(token) && !ended.error.contains(token))
        }
    }

    @Test func `at a node without a store the doctor says so, and does all with --own-node`() async throws {
        try await withNode(subscribedTo: [], hasStore: false) { url, fake in
            let arguments = ["doctor", "--node", url, "--server", server]
            let refused = try await run(arguments)
            #expect(refused.exitCode == 69 && refused.error.contains("add --own-node"))
            let ended = try await run(arguments + ["--own-node", "--json"])
            #expect(ended.exitCode == 0)
            #expect(try ended.decoded(as: Checkup.self).steps.map(\.name) == ["node", "register", "query", "push", "unregister"])
            #expect(fake.requests.count == 4)
        }
    }

    @Test func `at go-waku, which has no store, the doctor names --own-node once, also as the advice in JSON`() async throws {
        let node = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: 500, body: "no suitable peers found") }
        }
        let arguments = ["doctor", "--node", node.url, "--server", server]
        let refused = try await run(arguments)
        #expect(refused.exitCode == 69 && refused.error.components(separatedBy: "add --own-node").count == 2, "\(refused.error)")
        let json = try await run(arguments + ["--json"])
        #expect(json.output.contains("add --own-node"), "\(json.output)")
    }

    @Test func `with --own-node, watch takes and shows all messages in the node's cache`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let environment = ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile]
            #expect(try await run(["register", "--device-token", "token", "--token-type", "firebase"], environment).exitCode == 0)
            #expect(try await run(["advertise"], environment).exitCode == 0)
            let watch = ["watch", "--own-node", "--for", "1ms", "--json"]
            let watched = try await run(watch, environment).lines(as: Watched.self)
            let types = watched.map(\.type)
            #expect(watched.allSatisfy { $0.time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/) != nil }, "\(watched)")
            #expect(
                types == ["PUSH_NOTIFICATION_REGISTRATION_RESPONSE", "PUSH_NOTIFICATION_QUERY", "CONTACT_CODE_ADVERTISEMENT"])
            #expect(try await run(watch, environment).output.isEmpty)
            // Reading the store removes no messages.
            let stored = try await run(["watch", "--since", "1m", "--for", "1ms", "--json"], environment)
            #expect(try stored.lines(as: Watched.self).count == 3)
        }
    }

    @Test(arguments: [[], ["--own-node"]]) func `watch shows a message when it arrives`(options: [String]) async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let receipt = try await run(
                ["register", "--device-token", "token", "--token-type", "firebase", "--json"],
                ["PUSHCTL_NODE": url, "PUSHCTL_SERVER": server, "PUSHCTL_KEY_FILE": keyFile]
            ).receipt()
            let watching = try ChildProcess(
                "pushctl", ["watch", "--public-key", receipt.publicKey, "--node", url] + options, environment: [:])
            #expect(await watching.standardError.wait { $0.contains("Watching 3 topics") })
            #expect(try await run(["query", "--owner", receipt.publicKey, "--node", url, "--server", server]).exitCode == 0)
            #expect(await watching.standardOutput.wait { $0.contains("PUSH_NOTIFICATION_QUERY") })
            watching.signal(SIGINT)
            #expect(await watching.exitCode == -SIGINT)
        }
    }

    @Test func `the doctor names the failed step and a remedy`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            let arguments = ["doctor", "--node", url, "--server", server, "--timeout", "1ms"]
            fake.refuseRegistrations(with: [.internalError])
            let troubled = try await run(arguments)
            #expect(troubled.exitCode == 1 && troubled.error.contains("database"))
            fake.fault = .isSilent
            let silent = try await run(arguments + ["--json"])
            #expect(silent.exitCode == 1 && silent.error.contains("pushserver identity"))
            let checkup = try silent.decoded(as: Checkup.self)
            #expect(!checkup.isHealthy && checkup.steps.map(\.name) == ["node", "register", "unregister"])
        }
        let unreachable = try await run(["doctor", "--node", "http://127.0.0.1:1", "--server", server])
        #expect(unreachable.exitCode == 69 && unreachable.error.contains("--rest=true"))
    }

    @Test func `public keys are shown in all forms with their topics, and private keys never`() async throws {
        #expect(try await run(["keys", "--key-file", keyFile]).exitCode == 78)
        let made = try await run(["keys", "--key-file", keyFile, "--new"])
        #expect(made.exitCode == 0)
        let secret = try String(contentsOfFile: keyFile, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        #expect(!made.output.contains(secret))
        let shown = try await run(["keys", "--public-key", server, "--json"]).decoded(as: Key.self)
        #expect(shown.publicKey == PushClient.PublicKey(PrivateKey.test(1).publicKey).hex)
    }

    @Test func `a refusal prints a plain sentence and exits with 1`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, _ in
            let arguments = [
                "register", "--node", url, "--server", server, "--key-file", keyFile, "--device-token", "token", "--token-type", "firebase",
                "--registration-version", "1",
            ]
            #expect(try await run(arguments).exitCode == 0)
            let again = try await run(arguments)
            #expect(again.exitCode == 1)
            #expect(again.error.contains("VERSION_MISMATCH"))
        }
    }

    @Test func `a failure tells scripts its reason, and the result is an array in any case`() async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, fake in
            func pushctl(_ arguments: String...) async throws -> ChildProcess.Ended {
                try await run(
                    arguments + ["--node", url, "--server", server, "--json"], ["PUSHCTL_KEY_FILE": keyFile])
            }
            let register = ["register", "--device-token", "token", "--token-type", "firebase", "--node", url, "--server", server, "--json"]
            let exactly = register + ["--key-file", keyFile, "--registration-version", "1"]
            #expect(try await run(exactly).receipt().version == "1")
            let rejected = try await run(exactly)
            #expect(
                try rejected.failure()
                    == .init(code: "failed", reason: "rejected", rejection: "VERSION_MISMATCH", server: fake.identity.hex))
            #expect(try rejected.decoded(as: [Receipt].self).map(\.version) == [])
            let unknown = try await pushctl("query", "--owner", server, "--timeout", "10ms")
            #expect(try unknown.failure() == .init(code: "failed", reason: "noReply"))
            fake.answer(queriesFor: fake.key.publicKey)
            #expect(try await pushctl("query", "--owner", server).failure() == .init(code: "failed", reason: "unknownOwner"))
            #expect(try await pushctl("query").failure() == .init(code: "usage"))
            let nowhere = try await run(["query", "--owner", server, "--node", "http://127.0.0.1:1", "--server", server, "--json"])
            #expect(try nowhere.failure() == .init(code: "unavailable", reason: "nodeUnreachable"))
        }
    }

    @Test(
        arguments: [
            ["query"], ["query", "--owner", "zz"], ["nonsense"], ["register", "--token-type", "apn", "--device-token", "token"],
            ["unregister"], ["register", "--device-token", "token", "--token-type", "firebase"],
            ["push", "--to", "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798", "--access-token", "token"],
        ])
    func `wrong usage exits with 64`(arguments: [String]) async throws {
        let ended = try await run(arguments)
        #expect(ended.exitCode == 64)
        #expect(!ended.error.isEmpty && ended.output.isEmpty)
    }

    @Test func `a command that exits at once has the right exit code each time, whether it reached the node or not`() async throws {
        // An exit while libcurl's thread started crashed two of three runs: twenty runs miss the crash once in 10^10 times.
        for _ in 0..<20 { #expect(try await run(["doctor"]).exitCode == 64) }
        for _ in 0..<5 { #expect(try await run(["doctor", "--server", server, "--node", "http://127.0.0.1:1"]).exitCode == 69) }
    }

    @Test func `an unreachable node exits with 69, and the message names its address`() async throws {
        let ended = try await run(["query", "--owner", server, "--server", server, "--node", "http://127.0.0.1:1"])
        #expect(ended.exitCode == 69)
        #expect(ended.error.contains("http://127.0.0.1:1"))
    }

    @Test func `an invalid environment and an unusable key file exit with 78`() async throws {
        #expect(try await run(["query", "--owner", server], ["PUSHCTL_SERVER": "zz"]).exitCode == 78)
        #expect(try await run(["query", "--owner", server, "--server", server], ["PUSHCTL_NODE": "zz"]).exitCode == 78)

        let unregister = ["unregister", "--server", server, "--key-file", keyFile]
        #expect(try await run(unregister).exitCode == 78)
        let secret = String(repeating: "7a", count: 32)
        for (content, permissions) in [(secret, 0o644), ("no key", 0o600)] {
            try folder.write(content, to: "key", mode: permissions)
            let ended = try await run(unregister)
            #expect(ended.exitCode == 78)
            #expect(ended.error.contains(keyFile) && !ended.error.contains(secret))
        }
    }

    fileprivate struct Receipt: Decodable {
        let publicKey: String
        let installationID: String
        let accessToken: String?
        let version: String
        var number: UInt64 { UInt64(version) ?? 0 }
    }

    /// The last line of standard error.
    fileprivate struct Failed: Decodable {
        struct Reason: Decodable, Equatable {
            let code: String
            var reason: String?
            var rejection: String?
            var server: String?
        }

        let error: Reason
    }

    private struct Key: Decodable {
        let publicKey: String
    }

    private struct Watched: Decodable {
        let time: String
        let topic: String
        let type: String
    }

    private struct Checkup: Decodable {
        struct Step: Decodable {
            let name: String
        }

        let isHealthy: Bool
        let steps: [Step]
    }

    private struct Device: Decodable, Equatable {
        let installationID: String
        let accessToken: String
        let version: String
        let grant: String
    }

    private struct Pushed: Decodable {
        struct Report: Decodable {
            let outcome: String
        }

        let reports: [Report]
    }
}

extension ChildProcess.Ended {
    /// Returns the only confirmation.
    fileprivate func receipt() throws -> CommandTests.Receipt {
        let receipts = try decoded(as: [CommandTests.Receipt].self)
        #expect(receipts.count == 1)
        return try #require(receipts.first)
    }

    fileprivate func failure() throws -> CommandTests.Failed.Reason {
        let line = try #require(error.split(separator: "\n").last)
        return try JSONDecoder().decode(CommandTests.Failed.self, from: Data(line.utf8)).error
    }

    fileprivate func lines<Value: Decodable>(as type: Value.Type) throws -> [Value] {
        try output.split(separator: "\n").map { try JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    fileprivate func decoded<Value: Decodable>(as type: Value.Type) throws -> Value {
        try JSONDecoder().decode(type, from: Data(output.utf8))
    }
}

/// Runs the `pushctl` of the same build, with only the given environment.
private func run(_ arguments: [String], _ environment: [String: String] = [:]) async throws -> ChildProcess.Ended {
    try await ChildProcess.run("pushctl", arguments, environment: environment)
}
