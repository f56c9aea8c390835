import Foundation
import Synchronization
import TestSupport

/// `pushserver` as a process of its own: for signals, restarts and exit codes nothing less will do.
final class ServerProcess: Sendable {
    /// Contents of the ready file.
    struct Addresses: Decodable {
        var admin: String
        var relays: [String]
        var publicKey: String
    }

    /// The executable beside the test bundle.
    static let executable = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        .appending(path: "pushserver")

    let addresses: Addresses
    let log: Lines
    private let process: ChildProcess

    /// Starts `serve` and returns when it is ready.
    ///
    /// - Parameter settings: in addition to the ones every test wants: files in the folder, two relays and the admin on free ports.
    static func start(in folder: TemporaryFolder, settings: [String: String] = [:]) async throws -> ServerProcess {
        let readyFile = folder.path("ready.json")
        var all = [
            "identity.keyFile": folder.path("identity.key"),
            "storage.path": folder.path("push.sqlite"),
            "transport.embedded.listen": "127.0.0.1:0,127.0.0.1:0",
            "admin.listen": "127.0.0.1:0",
            // An echo would be one reply more, some seconds later; it has tests of its own.
            "transport.replyEcho": "false",
        ]
        all.merge(settings) { $1 }
        let process = try ChildProcess(
            executable, ["serve", "--ready-file", readyFile] + all.sorted { $0.key < $1.key }.flatMap { ["--set", "\($0)=\($1)"] })
        guard await process.standardError.wait(for: { $0.hasSuffix("ready") }) else {
            throw StartFailure(log: process.standardError.all)
        }
        // The line comes just before the file; the file is written in one piece.
        while !FileManager.default.fileExists(atPath: readyFile), process.isRunning { await Task.yield() }
        let addresses = try JSONDecoder().decode(Addresses.self, from: Data(contentsOf: URL(filePath: readyFile)))
        return ServerProcess(process, addresses)
    }

    struct StartFailure: Error {
        var log: [String]
    }

    private init(_ process: ChildProcess, _ addresses: Addresses) {
        self.process = process
        self.addresses = addresses
        log = process.standardError
    }

    deinit { process.signal(SIGKILL) }

    /// SIGTERM, as an operator stops a service. Returns the exit code.
    func terminate() async -> Int32 {
        process.signal(SIGTERM)
        return await process.exitCode
    }

    /// SIGKILL, as power cuts and out-of-memory killers do.
    func kill() async {
        process.signal(SIGKILL)
        _ = await process.exitCode
    }
}

/// A child process with its output line by line.
final class ChildProcess: Sendable {
    let standardOutput = Lines()
    let standardError = Lines()
    private let identifier: pid_t
    private let end = Lines()

    init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
        let process = Process()
        process.executableURL = executable
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        for (lines, isError) in [(standardOutput, false), (standardError, true)] {
            let pipe = Pipe()
            pipe.fileHandleForReading.readabilityHandler = { handle in
                let data = handle.availableData
                lines.append(data)
                if data.isEmpty { handle.readabilityHandler = nil }
            }
            if isError { process.standardError = pipe } else { process.standardOutput = pipe }
        }
        let end = self.end
        process.terminationHandler = { process in
            end.append(Data("\(process.terminationReason == .exit ? process.terminationStatus : -process.terminationStatus)\n".utf8))
        }
        try process.run()
        identifier = process.processIdentifier
    }

    var isRunning: Bool { end.all.isEmpty }

    func signal(_ number: Int32) {
        if isRunning { _ = kill(identifier, number) }
    }

    /// Waits for the end; a negative number is the signal that caused it.
    var exitCode: Int32 {
        get async {
            _ = await end.wait { _ in true }
            return end.all.first.flatMap { Int32($0) } ?? -1
        }
    }

    /// Runs to the end.
    static func run(
        _ arguments: [String], executable: URL = ServerProcess.executable, environment: [String: String] = [:]
    ) async throws -> (exitCode: Int32, output: String, error: String) {
        let process = try ChildProcess(executable, arguments, environment: environment)
        let code = await process.exitCode
        await process.standardOutput.waitForEnd()
        await process.standardError.waitForEnd()
        return (
            code, process.standardOutput.all.joined(separator: "\n"), process.standardError.all.joined(separator: "\n")
        )
    }
}

/// Lines that come in, and that can be waited for.
final class Lines: Sendable {
    private struct State {
        var lines: [String] = []
        var partial = Data()
        var hasEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    var all: [String] { state.withLock { $0.lines } }

    /// - Parameter data: empty at the end.
    func append(_ data: Data) {
        let woken = state.withLock { state in
            state.hasEnded = state.hasEnded || data.isEmpty
            state.partial.append(data)
            while let end = state.partial.firstIndex(of: UInt8(ascii: "\n")) {
                state.lines.append(String(decoding: state.partial[..<end], as: UTF8.self))
                state.partial = Data(state.partial[state.partial.index(after: end)...])
            }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in woken { continuation.resume() }
    }

    /// Returns true when there is such a line, false when the end came before it.
    func wait(for predicate: @Sendable (String) -> Bool) async -> Bool {
        while true {
            let isThere = state.withLock { $0.lines.contains(where: predicate) ? true : $0.hasEnded ? false : nil }
            if let isThere { return isThere }
            await change(unless: { $0.lines.contains(where: predicate) || $0.hasEnded })
        }
    }

    func waitForEnd() async {
        while !state.withLock({ $0.hasEnded }) { await change(unless: { $0.hasEnded }) }
    }

    private func change(unless isOver: @Sendable (State) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isOver = state.withLock { state in
                guard !isOver(state) else { return true }
                state.waiting.append(continuation)
                return false
            }
            if isOver { continuation.resume() }
        }
    }
}

/// A folder for one test, gone when the test is.
final class TemporaryFolder: Sendable {
    private let url = FileManager.default.temporaryDirectory.appending(path: "pushserver-tests-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appending(path: name).path() }

    func write(_ text: String, to name: String, mode: Int = 0o600) throws {
        try Data(text.utf8).write(to: url.appending(path: name))
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path(name))
    }
}
