import Foundation
import Synchronization

/// A PostgreSQL server of one test, which the test can stop, kill and fill up. The server syncs to the disk as in production, and listens
/// on a Unix socket only. The server does not outlive its handle.
///
/// PostgreSQL refuses to run as root, so root's tests run it as the user `postgres`.
package final class PostgreSQLProcess: Sendable {
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
    }

    /// The database of the tests.
    private static let database = "postgres"
    private static let user = "postgres"
    private static let isRoot = geteuid() == 0

    /// The folder of the socket and of the cluster.
    private let folder: TemporaryFolder
    private let settings: [String]
    /// The first process of the server, or nil while the server is stopped.
    private let process = Mutex<ChildProcess?>(nil)

    private init(_ settings: [String]) throws {
        folder = try TemporaryFolder()
        self.settings = settings
        if Self.isRoot { try FileManager.default.setAttributes([.ownerAccountName: Self.user], ofItemAtPath: folder.path("")) }
    }

    /// Creates a cluster and starts its server.
    ///
    /// - Parameter settings: Lines of `postgresql.conf`, such as `wal_writer_delay=10s`.
    package static func start(_ settings: [String] = []) async throws -> PostgreSQLProcess {
        let server = try PostgreSQLProcess(settings)
        // The segments of the WAL are small, so that a limit for files is above their size. `initdb` itself need not sync.
        try await server.run(
            "initdb", ["--username=\(user)", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--wal-segsize=1"])
        try await server.start()
        return server
    }

    /// Creates a standby of this server and starts it. From then on, each commit waits for the standby.
    package func startStandby() async throws -> PostgreSQLProcess {
        let standby = try PostgreSQLProcess(settings)
        try await standby.run(
            "pg_basebackup", ["--host=\(socket)", "--username=\(Self.user)", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
        try await standby.start()
        _ = try await query("ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'")
        _ = try await query("SELECT pg_reload_conf()")
        try await OpenWaits.during("the standby of a PostgreSQL") {
            while try await query("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'quorum'") == "0" {
                try Task.checkCancellation()
            }
        }
        return standby
    }

    /// Lets a standby receive nothing more. Commits no longer wait for it.
    package func detach(_ standby: PostgreSQLProcess) async throws {
        _ = try await query("ALTER SYSTEM RESET synchronous_standby_names")
        _ = try await query("SELECT pg_reload_conf()")
        _ = try await standby.query("ALTER SYSTEM SET primary_conninfo = ''")
        _ = try await standby.query("SELECT pg_reload_conf()")
        try await OpenWaits.during("the end of a standby's replication") {
            while try await query("SELECT count(*) FROM pg_stat_replication") != "0" { try Task.checkCancellation() }
        }
    }

    /// The folder of the socket.
    package var socket: String { folder.path("") }

    /// The settings of a server that uses the database.
    package var serverSettings: [String: String] { Self.serverSettings(sockets: [socket]) }

    /// The settings of a server that uses the one of several PostgreSQL servers that accepts writes.
    package static func serverSettings(sockets: [String]) -> [String: String] {
        ["storage.kind": "postgresql", "storage.url": "postgresql://\(user)@/\(database)?host=\(sockets.joined(separator: ","))"]
    }

    // MARK: Life

    /// Starts the stopped server and returns when it accepts connections.
    package func start() async throws {
        let options = ["listen_addresses=", "unix_socket_directories=\(socket)"] + settings
        let process = try ChildProcess("/usr/bin/env", command("postgres", options.flatMap { ["-c", $0] }))
        self.process.withLock { $0 = process }
        guard await process.standardError.wait(for: { $0.contains("database system is ready to accept") }) else {
            throw Failure(description: process.standardError.all.joined(separator: "\n"))
        }
    }

    /// Stops the server like `pg_ctl stop --mode=fast`, which ends all connections.
    package func stop() async {
        process.withLock { $0 }?.signal(SIGINT)
        await waitForEnd()
    }

    /// Kills all processes of the server, as in a power cut. In contrast to a power cut, unsynced data survives in the kernel.
    package func kill() async {
        for process in processes { Glibc.kill(process, SIGKILL) }
        await waitForEnd()
    }

    /// Stops all processes by a signal, so that the server hangs: it answers nothing, and its connections stay open.
    package func freeze() {
        for process in processes { Glibc.kill(process, SIGSTOP) }
    }

    /// Lets a server that hangs go on.
    package func thaw() {
        for process in processes { Glibc.kill(process, SIGCONT) }
    }

    /// Returns when all processes have exited.
    package func waitForEnd() async {
        guard let process = process.withLock({ $0 }) else { return }
        _ = await process.exitCode
        // Each process of the server writes to this stream, which therefore ends after the last exit.
        await process.standardError.waitForEnd()
        self.process.withLock { $0 = nil }
    }

    /// Makes a standby the primary.
    package func promote() async throws { _ = try await query("SELECT pg_promote(wait => true, wait_seconds => 600)") }

    /// The first process and its children. The property stops the first process, so that it starts no others.
    private var processes: [pid_t] {
        guard let process = process.withLock({ $0 }), process.isRunning else { return [] }
        process.signal(SIGSTOP)
        return children(of: process) + [process.identifier]
    }

    private func children(of process: ChildProcess) -> [pid_t] {
        let path = "/proc/\(process.identifier)/task/\(process.identifier)/children"
        return ((try? String(contentsOfFile: path, encoding: .utf8)) ?? "").split(separator: " ").compactMap { pid_t($0) }
    }

    // MARK: Use

    /// Limits the size of each file that the server writes, so that its writes fail as on a full disk.
    ///
    /// - Parameter byteCount: nil means no limit.
    package func limitFiles(to byteCount: Int?) async throws {
        let size = byteCount.map(String.init) ?? "unlimited"
        // The stopped first process starts no child with the earlier limit.
        let processes = processes
        defer { process.withLock { $0 }?.signal(SIGCONT) }
        for process in processes {
            // Root may lack the capability to change another user's limits.
            let command = ["prlimit", "--pid", "\(process)", "--fsize=\(size):"]
            let ended = try await ChildProcess.run("/usr/bin/env", Self.asUser + command)
            // A child may have exited meanwhile.
            guard ended.exitCode == 0 || process != processes.last else { throw Failure(description: ended.error) }
        }
    }

    /// Lets sessions only read, as those of a standby.
    package func setReadOnly(_ isReadOnly: Bool) async throws {
        try await query("ALTER SYSTEM SET default_transaction_read_only = \(isReadOnly)")
        try await query("SELECT pg_reload_conf()")
    }

    /// Runs a statement and returns its result.
    @discardableResult
    package func query(_ statement: String) async throws -> String {
        let arguments = ["-h", socket, "-U", Self.user, "-d", Self.database, "-XAtqc", statement]
        let ended = try await ChildProcess.run("/usr/bin/psql", arguments)
        guard ended.exitCode == 0 else { throw Failure(description: ended.error) }
        return ended.output
    }

    /// Returns the log with the entries of all statements that have ended.
    package func completeLog() async throws -> [String] {
        // All processes of the server write to one pipe, so earlier entries come before this one.
        let mark = "mark \(UUID())"
        try await query("DO $$ BEGIN RAISE LOG '\(mark)'; END $$")
        guard let log = process.withLock({ $0 })?.standardError, await log.wait(for: { $0.contains(mark) }) else {
            throw Failure(description: "the server has ended")
        }
        return log.all
    }

    private func run(_ program: String, _ arguments: [String]) async throws {
        let ended = try await ChildProcess.run("/usr/bin/env", command(program, arguments))
        guard ended.exitCode == 0 else { throw Failure(description: ended.error) }
    }

    /// The arguments of env(1) that run a program as the owner of the server, who may not be able to read the folder of the tests.
    private static let asUser =
        ["--chdir=/"] + (isRoot ? ["setpriv", "--reuid=\(user)", "--regid=\(user)", "--clear-groups"] : [])

    /// Returns the arguments of env(1) that run a program of PostgreSQL on the cluster.
    private func command(_ program: String, _ arguments: [String]) throws -> [String] {
        // Debian keeps the programs of each version in a folder of its own.
        let versions = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql").compactMap { Int($0) }
        guard let version = versions.max() else { throw Failure(description: "/usr/lib/postgresql has no PostgreSQL") }
        return Self.asUser + ["/usr/lib/postgresql/\(version)/bin/\(program)", "-D", folder.path("cluster")] + arguments
    }
}
