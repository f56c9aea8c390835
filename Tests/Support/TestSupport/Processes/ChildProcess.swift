import Foundation
import Synchronization

/// A program that runs as a child process, with its output line by line. The process does not outlive its handle.
///
/// The class replaces Foundation's `Process`, which on Linux sometimes misses the exit of a child that lives only for milliseconds. Its
/// children also inherit the descriptors by which it detects the exit of others.
package final class ChildProcess: Sendable {
    package struct SpawnFailure: Error {
        package var program: String
        package var errno: Int32
    }

    /// The result of a program that has exited.
    package struct Ended: Sendable {
        /// The exit code, or the negated number of the signal that ended the program.
        package var exitCode: Int32
        /// The lines of standard output, joined; `error` has those of standard error.
        package var output: String
        package var error: String
    }

    private enum Life {
        case running(waiting: [CheckedContinuation<Int32, Never>])
        case ended(exitCode: Int32)
    }

    package let standardOutput = Lines()
    package let standardError = Lines()
    package let identifier: Int32
    /// The program and its arguments, for the message about a test that hangs.
    private let command: String
    private let life = LifeCell()

    /// The state in a separate object, so that the thread that waits for the exit does not retain the handle.
    private final class LifeCell: Sendable {
        let state = Mutex(Life.running(waiting: []))
    }

    /// The environment of this process without what belongs to the person who runs the tests: the home folder, in which a server may have
    /// its files, and settings of a server.
    package static let environment = ProcessInfo.processInfo.environment
        .filter { !$0.key.hasPrefix("PUSHSERVER_") }
        .merging(["HOME": "/nonexistent"]) { $1 }

    /// Returns the path of a program in the folder of this program. An absolute path stays unchanged.
    package static func path(of program: String) -> String {
        guard !program.hasPrefix("/") else { return program }
        return URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent().appending(path: program).path()
    }

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: The name of a program in the folder of this program, or an absolute path.
    ///   - environment: The complete environment, but for two variables of tests.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = ChildProcess.environment
    ) throws(SpawnFailure) {
        // Without a configuration file of the test, no program reads that of a service on this machine. Scripts/mutants turns a fault on
        // by the other variable, in all processes of a test.
        let environment = ["PUSHSERVER_CONFIG": ""].merging(environment) { $1 }
            .merging(ProcessInfo.processInfo.environment.filter { $0.key == "FAULT" }) { $1 }
        let output = try Self.pipe(for: program)
        let error = try Self.pipe(for: program)
        let (status, identifier) = Self.spawn(Self.path(of: program), arguments, environment, output: output.write, error: error.write)
        close(output.write)
        close(error.write)
        guard status == 0 else {
            close(output.read)
            close(error.read)
            throw SpawnFailure(program: program, errno: status)
        }
        // A handle without a child must not send signals in its `deinit`, least of all to process 0.
        self.identifier = identifier
        command = ([program] + arguments).joined(separator: " ")
        Self.read(output.read, into: standardOutput)
        Self.read(error.read, into: standardError)
        Self.wait(for: identifier, life)
    }

    deinit { signal(SIGKILL) }

    // MARK: Life

    /// Sends a signal, unless the process has exited: its number may then belong to another process.
    package func signal(_ number: Int32) {
        life.state.withLock { if case .running = $0 { _ = kill(identifier, number) } }
    }

    /// Stops the process by SIGSTOP until it gets SIGCONT, and returns when it stands still.
    package func stop() async {
        signal(SIGSTOP)
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [identifier] in
                var info = unsafe siginfo_t()
                while unsafe waitid(P_PID, id_t(identifier), &info, WSTOPPED) < 0, errno == EINTR {}
                continuation.resume()
            }
        }
    }

    package var isRunning: Bool {
        life.state.withLock { if case .running = $0 { true } else { false } }
    }

    /// The exit code, or the negated number of the signal that ended the process, once it has exited. A cancelled task kills the process.
    package var exitCode: Int32 {
        get async {
            await OpenWaits.during("the exit of \(self.command)", progress: { [identifier] in ProcessorTime.ticks(of: identifier) }) {
                await waitForExit()
            }
        }
    }

    private func waitForExit() async -> Int32 {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let exitCode = life.state.withLock { life -> Int32? in
                    switch life {
                    case .ended(let exitCode): return exitCode
                    case .running(let waiting): life = .running(waiting: waiting + [continuation])
                    }
                    return nil
                }
                if let exitCode { continuation.resume(returning: exitCode) }
            }
        } onCancel: {
            signal(SIGKILL)
        }
    }

    /// Runs a program until it exits.
    package static func run(
        _ program: String, _ arguments: [String], environment: [String: String] = ChildProcess.environment
    ) async throws -> Ended {
        let process = try ChildProcess(program, arguments, environment: environment)
        let exitCode = await process.exitCode
        await process.standardOutput.waitForEnd()
        await process.standardError.waitForEnd()
        return Ended(
            exitCode: exitCode, output: process.standardOutput.all.joined(separator: "\n"),
            error: process.standardError.all.joined(separator: "\n"))
    }

    // MARK: System

    private static func pipe(for program: String) throws(SpawnFailure) -> (read: Int32, write: Int32) {
        var ends: [Int32] = [0, 0]
        guard unsafe Glibc.pipe(&ends) == 0 else { throw SpawnFailure(program: program, errno: errno) }
        return (ends[0], ends[1])
    }

    private static func spawn(
        _ path: String, _ arguments: [String], _ environment: [String: String], output: Int32, error: Int32
    ) -> (status: Int32, identifier: pid_t) {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, error, 2)
        // This child must not keep the write end of another child's output open, nor a test's socket. The loop also closes unused
        // numbers. A complete test run had up to 2,558 descriptors.
        for descriptor in 3..<Int32(8_192) { unsafe posix_spawn_file_actions_addclose(&actions, descriptor) }
        // The pool's threads block all signals, and a child would inherit the mask.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        var all = sigset_t()
        unsafe sigemptyset(&none)
        unsafe sigfillset(&all)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setsigdefault(&attributes, &all)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        var texts = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var settings = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (texts + settings).forEach { unsafe free($0) } }
        var identifier: pid_t = 0
        let status = unsafe posix_spawn(&identifier, path, &actions, &attributes, &texts, &settings)
        return (status, identifier)
    }

    /// Reads lines on a separate thread: blocking calls must not use the thread pool.
    private static func read(_ descriptor: Int32, into lines: Lines) {
        Thread.detachNewThread {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while true {
                let count = unsafe Glibc.read(descriptor, &buffer, buffer.count)
                if count < 0, errno == EINTR { continue }
                lines.append(buffer[..<max(count, 0)])
                guard count > 0 else { break }
            }
            close(descriptor)
        }
    }

    private static func wait(for identifier: pid_t, _ life: LifeCell) {
        Thread.detachNewThread {
            // `WNOWAIT` leaves the child to be reaped under the lock. Until then, the number is this child's, and signals reach it.
            var info = unsafe siginfo_t()
            while unsafe waitid(P_PID, id_t(identifier), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
            var status: Int32 = 0
            let (waiting, exitCode) = life.state.withLock { life in
                while unsafe waitpid(identifier, &status, 0) < 0, errno == EINTR {}
                // The low seven bits are the signal that ended the process, and the next byte is its exit code (wait(2)).
                let exitCode = status & 0x7F == 0 ? status >> 8 & 0xFF : -(status & 0x7F)
                guard case .running(let waiting) = life else { return ([CheckedContinuation<Int32, Never>](), exitCode) }
                life = .ended(exitCode: exitCode)
                return (waiting, exitCode)
            }
            for continuation in waiting { continuation.resume(returning: exitCode) }
        }
    }
}
