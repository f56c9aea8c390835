import Bytes
import Foundation
import StatusCrypto
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
                pass     register.ios  must    Registering Client           A registration of an iOS device is a success.
                skipped  delivery.ios  must    Handle Notification Request  A push to an iOS device is posted to gorush once, with platform 1, \
                the device token, the apn_topic and a text.

                2 rules: 1 pass, 0 fail, 0 depart as the reference does. 1 skipped: --gorush-stub plays them.
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
        let ended = try await withModel(behaviour) { key, url in
            try await pushctl(["--server", key, "--node", url, "--timeout", "60m", "--only", "query.info", "--only", "query.topic"])
        }
        #expect(ended.exitCode == 1)
        #expect(ended.output.contains("fail     query.info   must    Handle Query Response"))
        #expect(ended.output.contains("^ another installation_id than the registered one (PROTOCOL.md §8)"))
        #expect(ended.error == "pushctl: 1 of 2 rules failed: query.info")
    }

    @Test func `says in a sentence that a node is absent, a server silent, a rule unknown or a port in use`() async throws {
        let absent = try await pushctl(["--server", Self.someKey, "--node", "http://127.0.0.1:1"])
        #expect(absent.exitCode == 69)
        #expect(absent.error.contains("cannot use the node at http://127.0.0.1:1") && absent.error.contains("Is a node running there?"))

        let unknown = try await pushctl(["--server", Self.someKey, "--only", "query.inf"])
        #expect(unknown.exitCode == 64 && unknown.error.contains("There is no rule and no group “query.inf”"))

        try await withModel(Behaviour()) { _, url in
            let silent = try await pushctl(["--server", Self.someKey, "--node", url, "--timeout", "10ms"])
            #expect(silent.exitCode == 1)
            #expect(silent.error.contains("No server: no reply to a registration arrived within 0.01 s."))

            let taken = try await pushctl(
                ["--server", Self.someKey, "--node", url, "--gorush-stub", String(url.dropFirst("http://".count))])
            #expect(taken.exitCode == 78)
            #expect(taken.error.contains("--gorush-stub: cannot listen on 127.0.0.1:"))
        }
    }
}
