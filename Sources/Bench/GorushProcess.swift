import Foundation
import Synchronization

/// The stub gorush as a process, found beside this program.
final class GorushProcess: Sendable {
    /// A device token, and when the stub had read the request with its push.
    typealias Arrival = (token: String, time: ContinuousClock.Instant)

    let url: String
    private let process: Process
    private let arrivals: Arrivals

    init(directory: String) async throws {
        let readyFile = directory + "/gorush.url"
        try? FileManager.default.removeItem(atPath: readyFile)
        let process = try Programs.start("stubgorush", arguments: ["--ready-file", readyFile])
        let arrivals = Arrivals()
        process.output.fileHandleForReading.readabilityHandler = { arrivals.read($0.availableData) }
        self.process = process.process
        self.arrivals = arrivals
        url = try await Programs.waitForFile(readyFile, of: process.process).trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// All pushes so far, in the order of arrival.
    var all: [Arrival] { arrivals.all }

    func stop() { process.terminate() }

    /// The lines of the stub, cut at their ends.
    private final class Arrivals: Sendable {
        private let state = Mutex<(rest: [UInt8], all: [Arrival])>(([], []))

        var all: [Arrival] { state.withLock { $0.all } }

        func read(_ data: Data) {
            // Both programs read the same clock; what it says is turned into the time that latencies are counted in.
            let (now, wallTime) = (ContinuousClock.now, Date.now.timeIntervalSince1970)
            state.withLock { state in
                state.rest += data
                guard let end = state.rest.lastIndex(of: UInt8(ascii: "\n")) else { return }
                let lines = String(decoding: state.rest[..<end], as: UTF8.self)
                state.rest.removeFirst(end + 1)
                for line in lines.split(separator: "\n") {
                    guard let arrival = Self.arrival(in: line) else { continue }
                    let time = now - .seconds(wallTime - arrival)
                    for token in Self.tokens(in: line) { state.all.append((token, time)) }
                }
            }
        }

        /// `…"arrived":1700000000.123}`
        private static func arrival(in line: Substring) -> Double? {
            line.range(of: "\"arrived\":").flatMap { Double(line[$0.upperBound...].dropLast()) }
        }

        /// `…"tokens":["…","…"]…`
        private static func tokens(in line: Substring) -> [String] {
            guard let start = line.range(of: "\"tokens\":["), let end = line[start.upperBound...].firstIndex(of: "]") else { return [] }
            return line[start.upperBound..<end].split(separator: ",").map { String($0.dropFirst().dropLast()) }
        }
    }
}

/// The other programs of this package, built beside this one.
enum Programs {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    static func start(_ name: String, arguments: [String]) throws -> (process: Process, output: Pipe) {
        let folder = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let program = folder.appending(path: name)
        guard FileManager.default.isExecutableFile(atPath: program.path()) else {
            throw Failure(description: "\(program.path()) is not there: swift build -c release --product \(name)")
        }
        let process = Process()
        let output = Pipe()
        process.executableURL = program
        process.arguments = arguments
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        return (process, output)
    }

    /// The content of a file that the process is about to write.
    static func waitForFile(_ path: String, of process: Process) async throws -> String {
        while process.isRunning {
            if let text = try? String(contentsOfFile: path, encoding: .utf8), text.hasSuffix("\n") || text.hasSuffix("}") { return text }
            try await Task.sleep(for: .milliseconds(2))
        }
        throw Failure(description: "a process ended before it was ready")
    }
}
