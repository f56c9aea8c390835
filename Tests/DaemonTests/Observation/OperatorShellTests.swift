import Foundation
import Observation
import TestSupport
import Testing

/// The commands that the status page, `pushctl top` and the log show, as an operator copies them.
@Suite(.fewAtATime) struct OperatorShellTests {
    @Test func `the commands of the page work when they are copied, wherever the configuration is`() async throws {
        let folder = try TemporaryFolder()
        let configuration = """
            gorush: { url: "http://127.0.0.1:1", pushLifetime: 2h }
            """
        let server = try ServerProcess.launch(in: folder, configuration: configuration)
        #expect(await server.log.wait { $0.contains("not ready") })
        let addresses = try await Self.addresses(of: server)
        let status = try await ChildProcess.run("pushctl", ["top", "--json", "--admin", addresses.admin])
        let snapshot = try JSONDecoder().decode(StatusSnapshot.self, from: Data(status.output.utf8))
        // One gorush serves both platforms.
        let issue = try #require(snapshot.issues.first)
        #expect(snapshot.issues.count == 1 && issue.text.hasPrefix("delivery ios, android: gorush is not reachable"), "\(issue.text)")
        #expect(issue.advice.contains("up to 2h."))

        // The file is not in the working directory, and the environment has none of its settings.
        let probe = try await shell(issue.command)
        #expect(probe.exitCode == 69 && probe.error.contains("gorush http://127.0.0.1:1"), "\(probe.error)")
        #expect(!probe.error.contains("no configuration file"))

        let commands = OperatorShell(
            configuration: folder.path("pushserver.yaml"), publicKey: snapshot.publicKey, admin: addresses.admin, node: addresses.node)
        let overload = Observation.Condition.overload("a").commands(in: commands).joined(separator: "\n")
        let top = try await shell(overload)
        #expect(top.exitCode == 0 && top.output.contains("tested: pushserver"), "\(top.error)")
        let doctor = try await shell(Observation.Condition.canary("a").commands(in: commands).joined(separator: "\n"))
        #expect(doctor.output.contains("ok      register"), "\(doctor.output)\(doctor.error)")
        _ = await server.terminate()
    }

    /// Returns the addresses that a server has logged, because it writes its ready file only once it is ready.
    private static func addresses(of server: Launched<ServerProcess.Addresses>) async throws -> (admin: String, node: String) {
        func address(_ words: String) throws -> String {
            let line = try #require(server.log.all.first { $0.contains(words) })
            return "http://" + String(try #require(line.firstMatch(of: /address=([0-9.:]+)/)?.1))
        }
        return (try address("admin endpoints are up"), try address("embedded relay is up"))
    }

    private func shell(_ command: String) async throws -> ChildProcess.Ended {
        let folder = URL(filePath: ChildProcess.path(of: "pushserver")).deletingLastPathComponent().path()
        return try await ChildProcess.run("/bin/sh", ["-c", command], environment: ["PATH": "\(folder):/usr/bin:/bin"])
    }

    @Test func `check-config without a file says that it checks the defaults`() async throws {
        let without = try await ChildProcess.run("pushserver", ["check-config"], environment: ["HOME": "/tmp"])
        #expect(without.exitCode == 0 && without.error.contains("no configuration file: these are the defaults"), "\(without.error)")
        let folder = try TemporaryFolder()
        try folder.write("log: { level: debug }", to: "a.yaml")
        let with = try await ChildProcess.run(
            "pushserver", ["check-config", "--config", folder.path("a.yaml")], environment: ["HOME": "/tmp"])
        #expect(with.exitCode == 0 && !with.error.contains("no configuration file"))
    }
}
