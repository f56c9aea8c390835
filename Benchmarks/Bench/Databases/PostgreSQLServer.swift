import Foundation
import TestSupport

/// A PostgreSQL server of a benchmark, with PostgreSQL's default settings, on a Unix socket in its own folder.
///
/// The server runs until ``stop(in:)``, because `pg_ctl` detaches it from this process.
final class PostgreSQLServer: Sendable {
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// The user that runs the server if this process is root's, because PostgreSQL refuses root. Debian's package creates it.
    private static let user = "postgres"

    /// The data folder, which also has the socket.
    let folder: String
    /// The process identifier of the server's first process, the parent of all others.
    private let processIdentifier: Int32

    /// Creates a cluster in a benchmark's folder and starts its server.
    ///
    /// - Throws: `Failure` with the messages of PostgreSQL's programs.
    init(below directory: String) async throws {
        folder = Self.folder(below: directory)
        let programs = try Self.programs()
        if geteuid() == 0 {
            try await Self.run("/usr/bin/install", ["-d", "-m", "0700", "-o", Self.user, folder])
        }
        try await Self.runAsServer(programs + "/initdb", ["-D", folder, "-U", Self.user, "-A", "trust", "-E", "UTF8", "--locale=C"])
        let options = "-k '\(folder)' -c listen_addresses="
        let log = folder + "/log"
        do {
            try await Self.runAsServer(programs + "/pg_ctl", ["-D", folder, "-l", log, "-o", options, "-w", "-s", "start"])
        } catch {
            throw Failure(description: "\(error)\n" + ((try? String(contentsOfFile: log, encoding: .utf8)) ?? ""))
        }
        guard let processIdentifier = Self.processIdentifier(in: folder) else { throw Failure(description: "PostgreSQL has exited") }
        self.processIdentifier = processIdentifier
    }

    /// Returns the parameters of libpq for a connection to a database.
    func parameters(_ database: String) -> [String: String] {
        ["host": folder, "user": Self.user, "dbname": database]
    }

    /// Runs statements, each in its own transaction.
    ///
    /// - Returns: The columns of all rows, separated by `|`, one row per line.
    @discardableResult
    func query(_ statements: String..., in database: String = "postgres") async throws -> String {
        try await Self.run(
            "/usr/bin/psql",
            ["-h", folder, "-U", Self.user, "-d", database, "-XAtq", "-v", "ON_ERROR_STOP=1"] + statements.flatMap { ["-c", $0] })
    }

    /// The processor seconds that all processes of the server have used.
    var processorSeconds: Double { ProcessStatus.seconds(ofFamilyOf: processIdentifier) }

    /// Kills the server of a benchmark's folder, if there is one, and waits until it has exited. Its data are lost.
    static func stop(in directory: String) {
        guard let processIdentifier = processIdentifier(in: folder(below: directory)) else { return }
        // SIGQUIT is PostgreSQL's immediate shutdown: the first process ends all others.
        guard kill(processIdentifier, SIGQUIT) == 0 else { return }
        while kill(processIdentifier, 0) == 0, ProcessStatus.current(of: processIdentifier) != nil { usleep(10_000) }
    }

    private static func folder(below directory: String) -> String { directory + "/postgresql" }

    /// Returns the process identifier in the first line of `postmaster.pid`, or nil if no server runs.
    private static func processIdentifier(in folder: String) -> Int32? {
        let text = try? String(contentsOfFile: folder + "/postmaster.pid", encoding: .utf8)
        return text?.split(separator: "\n").first.flatMap { Int32($0) }
    }

    /// Returns the folder of the newest installed version's programs. Debian keeps them out of the path.
    private static func programs() throws -> String {
        let root = "/usr/lib/postgresql"
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: root)) ?? []
        guard let newest = versions.compactMap({ Int($0) }).max() else {
            throw Failure(description: "\(root) has no version of PostgreSQL; install Debian's package postgresql")
        }
        return "\(root)/\(newest)/bin"
    }

    private static func runAsServer(_ program: String, _ arguments: [String]) async throws {
        if geteuid() == 0 {
            try await run("/usr/sbin/runuser", ["-u", user, "--", program] + arguments)
        } else {
            try await run(program, arguments)
        }
    }

    @discardableResult
    private static func run(_ program: String, _ arguments: [String]) async throws -> String {
        let ended = try await ChildProcess.run(program, arguments)
        guard ended.exitCode == 0 else { throw Failure(description: "\(program) failed: \(ended.error)") }
        return ended.output
    }
}
