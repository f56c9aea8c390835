import Foundation
import TestSupport
import Testing

/// Common mistakes of a first try. The error is a sentence, without a stack trace.
@Suite(.fewAtATime, .safetyNet)
struct FirstContactTests {
    private static let key = "0x0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798"

    @Test(arguments: [
        (["zz"], "A public key is written in hex digits."), ([key, "http://127.0.0.1:1"], "The node cannot be reached"),
    ])
    func `the example explains a mistake in a sentence`(arguments: [String], words: String) async throws {
        let ended = try await ChildProcess.run("Quickstart", arguments)
        #expect(ended.exitCode == 1)
        let lines = ended.error.split(separator: "\n")
        #expect(lines.count == 1 && lines[0].hasPrefix("Quickstart: ") && lines[0].contains(words), "\(ended.error)")
    }

    @Test func `the demo says where to get Swift`() async throws {
        let folder = try TemporaryFolder()
        for tool in ["bash", "dirname"] {
            try FileManager.default.createSymbolicLink(atPath: folder.path(tool), withDestinationPath: "/usr/bin/\(tool)")
        }
        let demo = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Scripts/demo").path()
        let ended = try await ChildProcess.run("/bin/bash", [demo], environment: ["PATH": folder.path("")])
        #expect(ended.exitCode == 69 && ended.error.contains("https://www.swift.org/install/linux/"), "\(ended.error)")
    }
}
