import Foundation
import TestSupport
import Testing
import Wire

/// Servers that reach PostgreSQL through pgbouncer.
@Suite(.fewAtATime, .enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/sbin/pgbouncer")))
struct PoolerTests {
    @Test func `a pooler may give out connections for sessions, and for transactions it is refused`() async throws {
        let database = try await TestDatabase.postgresql.settings()
        let folder = try TemporaryFolder()
        for (mode, ignored) in [("session", "options"), ("transaction", "options"), ("statement", "options"), ("session", "")] {
            let pooler = try await Pooler(mode: mode, ignoring: ignored, for: try #require(database["storage.url"]))
            let settings = database.merging(["storage.url": pooler.url]) { $1 }
            guard mode == "session", ignored == "options" else {
                let server = try ServerProcess.launch(in: folder, settings: settings)
                #expect(await server.exitCode == (ignored.isEmpty ? 69 : 78))
                let advice = ignored.isEmpty ? "set ignore_startup_parameters = options in the pooler" : "set pool_mode = session"
                #expect(server.log.all.last?.contains(advice) == true, "\(server.log.all)")
                continue
            }
            let server = try await ServerProcess.start(in: folder, settings: settings)
            let client = ProtocolClient(server: try serverKey(of: server))
            let network = Network(server)
            try await network.publish(client.envelope(client.registration(version: 1)))
            #expect(try await registrationResponse(to: client, from: network).success)
            #expect(await server.terminate() == 0)
        }
    }
}

/// A pgbouncer on a Unix socket, which refuses to run as root.
private final class Pooler {
    let url: String
    private let process: ChildProcess
    private let folder: TemporaryFolder

    /// - Parameters:
    ///   - mode: Its `pool_mode`.
    ///   - ignored: Its `ignore_startup_parameters`.
    ///   - url: The URL of a database on a Unix socket.
    init(mode: String, ignoring ignored: String, for url: String) async throws {
        folder = try TemporaryFolder()
        let name = try #require(url.firstMatch(of: /@\/([^?]+)\?host=([^&]+)/)).output
        try folder.write(
            """
            [databases]
            \(name.1) = host=\(name.2) user=postgres
            [pgbouncer]
            unix_socket_dir = \(folder.path(""))
            listen_port = 6432
            auth_type = any
            pool_mode = \(mode)
            ignore_startup_parameters = \(ignored)
            """, to: "pgbouncer.ini")
        if geteuid() == 0 {
            for path in ["", "pgbouncer.ini"] {
                try FileManager.default.setAttributes([.ownerAccountName: "postgres"], ofItemAtPath: folder.path(path))
            }
        }
        let asUser = geteuid() == 0 ? ["runuser", "--user", "postgres", "--"] : []
        process = try ChildProcess("/usr/bin/env", asUser + ["/usr/sbin/pgbouncer", folder.path("pgbouncer.ini")])
        self.url = "postgresql://postgres@/\(name.1)?host=\(folder.path(""))&port=6432"
        #expect(await process.standardError.wait(for: { $0.contains("process up") }), "\(process.standardError.all)")
    }
}
