import Foundation
import Logging
import TestSupport
import Testing

@testable import Observation

/// The loss of log lines that cannot be written.
@Suite(.safetyNet) struct LogOutputTests {
    /// A descriptor that fails each write.
    enum Broken: CaseIterable {
        case pipeWithoutReader, socketWithoutReader, fullDisk

        /// Opens the descriptor.
        func open() throws -> Int32 {
            signal(SIGPIPE, SIG_IGN)
            var ends: [Int32] = [0, 0]
            switch self {
            case .pipeWithoutReader: try #require(unsafe pipe(&ends) == 0)
            case .socketWithoutReader: try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
            case .fullDisk: return unsafe Glibc.open("/dev/full", O_WRONLY)
            }
            close(ends[0])
            return ends[1]
        }
    }

    @Test(arguments: Broken.allCases) func `a line that a broken descriptor refuses is counted`(broken: Broken) throws {
        let descriptor = try broken.open()
        defer { close(descriptor) }
        let output = LogOutput(descriptor)
        output.write(Array("one".utf8)) { _ in [] }
        output.write(Array("two".utf8)) { _ in [] }
        #expect(output.lostLineCount == 2)
    }

    @Test(arguments: [false, true]) func `lines lost to a slow reader are reported once it reads again`(isSocket: Bool) throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe (isSocket ? socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) : pipe(&ends)) == 0)
        let (reader, writer) = (isSocket ? ends[0] : ends[0], ends[1])
        defer { close(writer) }
        let output = LogOutput(writer)
        let report: (Int) -> [UInt8] = { Array("lost \($0)".utf8) }
        let long = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        while output.lostLineCount < 3 { output.write(long, reportingLoss: report) }
        drain(reader)
        output.write(Array("after".utf8), reportingLoss: report)
        // The truncated line ends before the report.
        #expect(drain(reader).hasSuffix("\nlost 3\nafter\n"))
        #expect(output.lostLineCount == 3)
        close(reader)
    }

    /// Reads the available bytes.
    @discardableResult
    private func drain(_ descriptor: Int32) -> String {
        _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = unsafe read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        return String(decoding: all, as: UTF8.self)
    }

    @Test(arguments: ["text", "json"]) func `both formats report a loss`(format: String) throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let output = LogOutput(ends[1])
        while output.lostLineCount == 0 { output.write([UInt8](repeating: 0x78, count: 100_000)) { _ in [] } }
        drain(ends[0])
        let handler: any LogHandler = format == "text" ? TextLogHandler(output: output) : JSONLogHandler(label: "test", output: output)
        Logger(label: "test") { _ in handler }.notice("works", metadata: ["key": "value"])
        let lines = drain(ends[0]).split(separator: "\n").suffix(2)
        #expect(lines.first?.contains("log lines could not be written") == true && lines.first?.contains("1") == true)
        #expect(lines.last?.contains("works") == true && lines.last?.contains("value") == true)
    }

    @Test(arguments: ["2>/dev/full", "2>&-"]) func `a server whose log cannot be written serves and exits`(redirection: String) async throws
    {
        let folder = try TemporaryFolder()
        let arguments = [
            "identity.keyFile=identity.key", "storage.path=push.sqlite", "transport.embedded.listen=127.0.0.1:0",
            "admin.listen=127.0.0.1:0", "log.level=trace",
        ].map { "--set \($0)" }.joined(separator: " ")
        let program = ChildProcess.path(of: "pushserver")
        let server = try ChildProcess(
            "/bin/sh", ["-c", "cd '\(folder.path("."))' && exec '\(program)' serve --ready-file ready \(arguments) \(redirection)"])
        try await FolderWatch(folder.path(".")).wait {
            FileManager.default.fileExists(atPath: folder.path("ready")) || !server.isRunning
        }
        // The server's standard error is a device that accepts or rejects lines, not a file that the server opened itself.
        let standardError = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server.identifier)/fd/2")
        #expect(standardError.hasPrefix("/dev/"))
        for number in [SIGUSR1, SIGUSR2, SIGHUP] { server.signal(number) }
        server.signal(SIGTERM)
        #expect(await server.exitCode == 0)
    }
}
