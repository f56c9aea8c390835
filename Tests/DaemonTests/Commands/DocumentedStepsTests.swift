import Foundation
import TestServers
import TestSupport
import Testing

/// The steps by hand of CONTRIBUTING.md, run verbatim except for free addresses. `Scripts/check commands` checks the commands of all pages.
@Suite(.fewAtATime, .safetyNet)
struct DocumentedStepsTests {
    private struct ReadyFile: Decodable {
        var relays: [String]
    }

    @Test func `the steps by hand wake the phone three times`() async throws {
        let folder = try TemporaryFolder()
        // The four blocks are: build, the stub of gorush, the server, the clients.
        let blocks = try Self.blocks(of: "Step by step", in: "CONTRIBUTING.md")
        try #require(blocks.count == 4)
        let programs = URL(filePath: ChildProcess.path(of: "pushctl")).deletingLastPathComponent().path()
        var environment = [
            "PATH": "\(programs):/usr/bin:/bin", "HOME": folder.path(""), "PUSHSERVER_TRANSPORT_EMBEDDED_LISTEN": "127.0.0.1:0",
            "PUSHSERVER_ADMIN_LISTEN": "127.0.0.1:0",
        ]
        try await withStubGorush(.init(isSync: true)) { gorush in
            let command = blocks[2].replacing("http://127.0.0.1:8088", with: await gorush.url)
                .replacing("pushserver serve", with: "exec pushserver serve --ready-file \(folder.path("ready"))")
            let server = try ChildProcess("/bin/bash", ["-euc", command], environment: environment)
            defer { server.signal(SIGTERM) }
            try #require(await server.standardError.wait { $0.hasSuffix("] ready") }, "\(server.standardError.all)")
            let readyFile = try JSONDecoder().decode(ReadyFile.self, from: Data(contentsOf: URL(filePath: folder.path("ready"))))
            environment["PUSHCTL_NODE"] = "http://\(try #require(readyFile.relays.first))"
            let steps = try await ChildProcess.run("/bin/bash", ["-euxc", "cd; " + blocks[3]], environment: environment)
            #expect(steps.exitCode == 0, "\(steps.output)\n\(steps.error)")
            let tokens = await gorush.waitForNotifications(count: 3).flatMap(\.tokens)
            #expect(tokens == ["my-phone", "my-phone", "my-phone"])
        }
    }

    /// Returns the blocks of shell commands below a heading of a page.
    private static func blocks(of heading: String, in page: String) throws -> [String] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..")
        let text = try String(contentsOf: root.appending(path: page), encoding: .utf8)
        let section = try #require(text.components(separatedBy: "\n## ").first { $0.hasPrefix(heading + "\n") })
        return section.components(separatedBy: "```sh\n").dropFirst().compactMap { $0.components(separatedBy: "```").first }
    }
}
