import Foundation
import TestSupport
import Testing

/// The examples with a server, as an app's developer runs them.
@Suite(.fewAtATime, .safetyNet)
struct ExampleTests {
    private static let key = "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

    /// Runs a program in its own folder.
    private func run(_ program: String, _ arguments: [String], in folder: TemporaryFolder) async throws -> ChildProcess.Ended {
        try await ChildProcess.run(
            "/bin/sh", ["-c", #"cd "$0" && exec "$@""#, folder.path(""), ChildProcess.path(of: program)] + arguments)
    }

    @Test func `the tutorial's program registers a phone and requests a push`() async throws {
        let (serverFolder, folder) = (try TemporaryFolder(), try TemporaryFolder())
        let server = try await ServerProcess.start(in: serverFolder)
        let ended = try await run("Tutorial", [server.addresses.publicKey, "http://\(server.addresses.relays[0])"], in: folder)
        let lines = ended.output.split(separator: "\n")
        #expect(ended.exitCode == 0 && lines.count == 2, "\(ended)")
        #expect(lines.first == "registration: registered" && lines.last?.hasPrefix("push: accepted by 0x") == true, "\(ended)")
        #expect(await server.terminate() == 0)
    }

    @Test func `the messenger on a node of its own registers, renews its token and notifies a contact`() async throws {
        let (serverFolder, folder) = (try TemporaryFolder(), try TemporaryFolder())
        let server = try await ServerProcess.start(in: serverFolder)
        let arguments = [server.addresses.publicKey, "http://\(server.addresses.relays[1])", folder.path("")]
        let ended = try await run("Messenger", arguments, in: folder)
        #expect(ended.exitCode == 0, "\(ended)")
        let expected = ["registered", "message: accepted", "registered", "mention: accepted", "unregistered"]
        #expect(ended.output.split(separator: "\n").map(String.init) == expected, "\(ended)")
        #expect(await server.terminate() == 0)
    }

    @Test(arguments: ["Tutorial", "Messenger"]) func `a wrong key and an absent node end in a sentence`(program: String) async throws {
        let folder = try TemporaryFolder()
        let wrongKey = try await run(program, ["zz", "http://127.0.0.1:1", folder.path("")], in: folder)
        #expect(wrongKey.exitCode == 1 && wrongKey.output.contains("A public key is written in hex digits."), "\(wrongKey)")
        // Port 1, tcpmux, has no listener.
        let noNode = try await run(program, [Self.key, "http://127.0.0.1:1", folder.path("")], in: folder)
        #expect(noNode.exitCode == 1 && noNode.output.contains("The node cannot be reached: "), "\(noNode)")
    }
}
