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

    @Test(arguments: LogFormat.allCases) func `both formats report a loss`(format: LogFormat) throws {
        var ends: [Int32] = [0, 0]
        try #require(unsafe pipe(&ends) == 0)
        defer { ends.forEach { close($0) } }
        let output = LogOutput(ends[1])
        while output.lostLineCount == 0 { output.write([UInt8](repeating: 0x78, count: 100_000)) { _ in [] } }
        drain(ends[0])
        Logger(label: "test") { LineLogHandler(label: $0, format: format, output: output) }.notice("works", metadata: ["key": "value"])
        let lines = drain(ends[0]).split(separator: "\n").suffix(2)
        #expect(lines.first?.contains("log lines could not be written") == true && lines.first?.contains("1") == true)
        #expect(lines.last?.contains("works") == true && lines.last?.contains("value") == true)
    }

    // MARK: The journal

    @Test(arguments: LogFormat.allCases) func `lines carry their priority if standard error is the journal, and no others do`(
        format: LogFormat
    ) throws {
        let levels: [(Logger.Level, String)] = [
            (.trace, "<7>"), (.debug, "<7>"), (.info, "<6>"), (.notice, "<5>"), (.warning, "<4>"), (.error, "<3>"), (.critical, "<2>"),
        ]
        for isJournal in [true, false] {
            var ends: [Int32] = [0, 0]
            try #require(unsafe pipe(&ends) == 0)
            defer { ends.forEach { close($0) } }
            let stream = try #require(JournalStream.identity(of: ends[1])) + (isJournal ? "" : "0")
            let output = LogOutput(ends[1], environment: ["JOURNAL_STREAM": stream])
            var handler = LineLogHandler(label: "test", format: format, output: output)
            handler.logLevel = .trace
            let logger = Logger(label: "test") { [handler] _ in handler }
            for (level, prefix) in levels {
                logger.log(level: level, "an event")
                let line = drain(ends[0])
                #expect(line.contains("an event") && line.hasPrefix("<") == isJournal && (!isJournal || line.hasPrefix(prefix)), "\(line)")
            }
        }
    }

    /// The ways in which a start fails, with a part of the reason.
    enum FailedStart: String, CaseIterable {
        case unknownSetting = "gorsh.url"
        case missingSealingKey = "sealing key file"
        case takenPort = "already in use"

        func settings(in folder: TemporaryFolder, besides other: ServerProcess) -> [String: String] {
            switch self {
            case .unknownSetting: ["gorsh.url": "http://127.0.0.1:1"]
            case .missingSealingKey: [:]
            case .takenPort: ["admin.listen": other.addresses.admin]
            }
        }
    }

    @Test(arguments: FailedStart.allCases) func `a start that fails says why in the format of the log, and nothing else of its own`(
        start: FailedStart
    ) async throws {
        let other = try await ServerProcess.start(in: TemporaryFolder())
        let folder = try TemporaryFolder()
        if start == .missingSealingKey {
            #expect(try await ServerProcess.start(in: folder).terminate() == 0)
            try FileManager.default.removeItem(atPath: folder.path("sealing.key"))
        }
        for format in ["json", "text"] {
            let settings = start.settings(in: folder, besides: other).merging(["log.format": format]) { $1 }
            let server = try ServerProcess.launch(in: folder, settings: settings)
            #expect(await server.exitCode != 0)
            let lines = server.log.all
            let last = try #require(lines.last)
            #expect(last.contains(start.rawValue), "\(last)")
            if format == "json" {
                for line in lines { #expect((try? JSONSerialization.jsonObject(with: Data(line.utf8))) != nil, "\(line)") }
                #expect(last.contains("\"level\":\"critical\""), "\(last)")
            } else {
                #expect(last.hasPrefix("pushserver: "), "\(last)")
            }
            #expect(!lines.contains { $0.contains("re-sealing") }, "\(lines)")
            #expect(start != .missingSealingKey || !lines.contains { $0.contains("created a new") }, "\(lines)")
        }
        #expect(await other.terminate() == 0)
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
