import Foundation

/// A program that runs beside the tests.
///
/// Not Foundation's `Process`: on Linux its children inherit the descriptors by which it learns of the end of others, and a server that
/// is started at the same moment keeps those tests waiting until it ends itself.
struct ChildProcess {
    struct SpawnFailure: Error {
        let code: Int32
    }

    let identifier: pid_t

    /// Starts a program that was built beside these tests.
    ///
    /// - Parameter files: for its standard output and error.
    init(
        _ name: String, _ arguments: [String], _ environment: [String: String] = ProcessInfo.processInfo.environment,
        files: (output: URL, error: URL)
    ) throws {
        let path = Bundle.main.bundleURL.appending(path: name).path
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (descriptor, file) in [(0, "/dev/null"), (1, files.output.path), (2, files.error.path)] as [(Int32, String)] {
            unsafe posix_spawn_file_actions_addopen(&actions, descriptor, file, descriptor == 0 ? O_RDONLY : O_WRONLY | O_CREAT, 0o600)
        }
        // Whether it is open or not; the tests have some hundreds.
        for descriptor in 3..<Int32(1_000) { unsafe posix_spawn_file_actions_addclose(&actions, descriptor) }
        var argv = unsafe ([path] + arguments).map { unsafe strdup($0) } + [nil]
        var envp = unsafe environment.map { unsafe strdup("\($0.key)=\($0.value)") } + [nil]
        defer { unsafe (argv + envp).forEach { unsafe free($0) } }
        var identifier = pid_t()
        let code = unsafe posix_spawn(&identifier, path, &actions, nil, &argv, &envp)
        guard code == 0 else { throw SpawnFailure(code: code) }
        self.identifier = identifier
    }

    /// The exit code, once it has ended; to be asked until then and not any more. A signal counts as −1.
    func exitCode() -> Int32? {
        var status: Int32 = 0
        guard unsafe waitpid(identifier, &status, WNOHANG) == identifier else { return nil }
        return status & 0x7F == 0 ? status >> 8 & 0xFF : -1
    }

    /// Waits for the end.
    func wait() async throws -> Int32 {
        while true {
            if let code = exitCode() { return code }
            try await Task.sleep(for: .milliseconds(5))
        }
    }
}
