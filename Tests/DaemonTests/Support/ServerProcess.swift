import Foundation
import Glibc
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
    /// Its files stay as long as it runs.
    private let folder: TemporaryFolder

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
        return ServerProcess(process, addresses, folder)
    }

    struct StartFailure: Error {
        var log: [String]
    }

    private init(_ process: ChildProcess, _ addresses: Addresses, _ folder: TemporaryFolder) {
        self.process = process
        self.folder = folder
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
///
/// Not Foundation's `Process`: on Linux it now and then loses the end of a child that lives for milliseconds only.
final class ChildProcess: Sendable {
    let standardOutput = Lines()
    let standardError = Lines()
    private let identifier: pid_t
    private let end = Lines()

    struct SpawnFailure: Error {
        var errno: Int32
    }

    init(_ executable: URL, _ arguments: [String], environment: [String: String] = [:]) throws {
        let output = try Self.pipe()
        let error = try Self.pipe()
        identifier = try Self.spawn(executable.path(), arguments, environment, output: output.write, error: error.write)
        close(output.write)
        close(error.write)
        Self.read(output.read, into: standardOutput)
        Self.read(error.read, into: standardError)
        let (identifier, end) = (self.identifier, self.end)
        Thread.detachNewThread {
            var status: Int32 = 0
            while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
            // The low seven bits are the signal that ended it, the next byte is what it returned (wait(2)).
            end.append(Data("\(status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F))\n".utf8))
        }
    }

    private static func pipe() throws -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw SpawnFailure(errno: errno) }
        // Another child must not keep the end of this one's output open.
        for descriptor in ends { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], output: Int32, error: Int32
    ) throws -> pid_t {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, error, 2)
        let variables = ProcessInfo.processInfo.environment.merging(environment) { $1 }.map { "\($0)=\($1)" }
        var texts = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var settings = unsafe variables.map { unsafe strdup($0) } + [nil]
        defer { for unsafe text in unsafe texts + settings { unsafe free(text) } }
        var identifier: pid_t = 0
        let status = unsafe posix_spawn(&identifier, path, &actions, nil, &texts, &settings)
        guard status == 0 else { throw SpawnFailure(errno: status) }
        return identifier
    }

    /// On a thread of its own: the pool must not block.
    private static func read(_ descriptor: Int32, into lines: Lines) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                lines.append(Data(buffer[..<max(count, 0)]))
                guard count > 0 else { break }
            }
            close(descriptor)
        }
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
