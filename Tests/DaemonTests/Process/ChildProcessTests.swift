import Foundation
import TestSupport
import Testing

/// The helper by which the other tests run programs.
@Suite(.fewAtATime)
struct ChildProcessTests {
    @Test(arguments: [("exit 0", 0), ("exit 7", 7), ("kill -TERM $$", -15)] as [(String, Int32)])
    func `the end of a process is reported as its exit code or its signal`(script: String, exitCode: Int32) async throws {
        let process = try ChildProcess("/bin/sh", ["-c", script])
        #expect(await process.exitCode == exitCode)
        // A later call returns the exit code again, even long after the exit.
        process.signal(SIGKILL)
        #expect(await process.exitCode == exitCode)
    }

    @Test func `output is read in lines, the last one also without a line feed`() async throws {
        let ended = try await ChildProcess.run("/bin/sh", ["-c", "echo one; echo; printf two; echo three >&2"])
        #expect(ended.output == "one\n\ntwo" && ended.error == "three")
        let process = try ChildProcess("/bin/sh", ["-c", "echo one; exec sleep 60"])
        #expect(await process.standardOutput.wait { $0 == "one" })
        process.signal(SIGTERM)
        #expect(await !process.standardOutput.wait(count: 2))
    }

    @Test func `a child has the given environment and inherits no descriptor`() async throws {
        let ended = try await ChildProcess.run("/usr/bin/env", [], environment: ["A": "b"])
        // Scripts/mutants adds one.
        #expect(Set(ended.output.split(separator: "\n").filter { !$0.hasPrefix("FAULT=") }) == ["A=b", "PUSHSERVER_CONFIG="])
        let descriptors = try await ChildProcess.run("/bin/sh", ["-c", "echo /proc/$$/fd/*"])
        #expect(descriptors.output.split(separator: " ").allSatisfy { ["0", "1", "2", "3"].contains($0.split(separator: "/").last) })
    }

    @Test func `a cancelled wait leaves no process running`() async throws {
        let process = try ChildProcess("/bin/sh", ["-c", "echo ready; exec sleep 60"])
        let task = Task { await process.exitCode }
        #expect(await process.standardOutput.wait { $0 == "ready" })
        task.cancel()
        #expect(await task.value == -SIGKILL)
        let waiting = Task { await process.standardOutput.wait(count: 5) }
        #expect(await !waiting.value)
    }

    @Test func `a missing program is an error`() {
        #expect(throws: ChildProcess.SpawnFailure.self) { try ChildProcess("no-such-program", []) }
    }
}
