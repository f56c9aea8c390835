import Foundation
import TestSupport
import Testing
import Wire

/// A full disk (RELIABILITY.md T3), as operators see it.
@Suite(.fewAtATime, .safetyNet)
struct DiskFullTests {
    @Test func `a full disk is logged as an error and counted, and its end is logged too`() async throws {
        let folder = try TemporaryFolder()
        // Without the trap, the kernel would kill the server when it exceeds the file size limit.
        let server = try await ServerProcess(ServerProcess.launch(in: folder, shell: "trap '' XFSZ"))
        let network = Network(server)
        let alice = ProtocolClient(server: try serverKey(of: server))
        #expect(try await network.admin.metric("pushserver_storage_errors_total") == 0)
        try await limitFiles(of: server, to: "1")
        await #expect(throws: (any Error).self) { try await network.publish(alice.envelope(alice.registration())) }
        #expect(await server.log.wait { $0.contains(" error [Engine] the store cannot be written error=") })
        #expect(
            await server.log.wait { $0.contains(" warning [Daemon] not ready reasons=") && $0.contains("the store could not be written") })
        #expect(try await network.admin.metric("pushserver_storage_errors_total") >= 1)
        #expect(try await network.admin.get("/health/ready").status == 503)
        for _ in 1...10 {
            await #expect(throws: (any Error).self) { try await network.publish(alice.envelope(alice.registration())) }
        }
        try await limitFiles(of: server, to: "unlimited")
        #expect(await server.log.wait { $0.contains(" warning [Engine] the store can be written again failures=") })
        // The start of the condition has two lines, after any number of failed writes.
        let lines = server.log.all.filter { $0.contains(" error ") || $0.contains(" warning ") }
        #expect(lines.count { $0.contains("not ready") } == 1, "\(lines)")
        #expect(lines.count { $0.contains("the store cannot be written") } == 1, "\(lines)")
        #expect(lines.count <= 6, "\(lines)")
        #expect(await server.log.wait { $0.contains(" warning [Daemon] ready again after=") })
        try await network.publish(alice.envelope(alice.registration()))
        #expect(try await registrationResponse(to: alice, from: network).success)
        #expect(await server.terminate() == 0)
    }

    /// Limits the size of each file that the server writes.
    ///
    /// - Parameter size: The limit in prlimit(1)'s syntax.
    private func limitFiles(of server: ServerProcess, to size: String) async throws {
        let arguments = ["--pid", "\(server.processIdentifier)", "--fsize=\(size):"]
        let ended = try await ChildProcess.run("/usr/bin/prlimit", arguments)
        try #require(ended.exitCode == 0, "\(ended.error)")
    }
}
