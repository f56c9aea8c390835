import Foundation
import PostgreSQLStore
import TestSupport
import Testing
import Wire

/// A server with a database in PostgreSQL: the differences from a file.
@Suite(.fewAtATime)
struct PostgreSQLServerTests {
    @Test func `an outage of the database makes the server unready, and it recovers by itself`() async throws {
        let settings = try await TestDatabase.postgresql.settings()
        let url = try #require(settings["storage.url"])
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: settings)
        let network = Network(server)
        let alice = ProtocolClient(server: try serverKey(of: server))

        try await TestDatabase.set(url, isReachable: false)
        await #expect(throws: (any Error).self) { try await network.publish(alice.envelope(alice.registration(version: 1))) }
        #expect(await server.log.wait { $0.contains(" error [Engine] the store cannot be written error=") })
        #expect(
            await server.log.wait { $0.contains(" warning [Daemon] not ready reasons=") && $0.contains("the store could not be written") })
        #expect(try await network.admin.get("/health/ready").status == 503)

        try await TestDatabase.set(url, isReachable: true)
        #expect(await server.log.wait { $0.contains(" warning [Daemon] ready again after=") })
        try await network.publish(alice.envelope(alice.registration(version: 2)))
        #expect(try await registrationResponse(to: alice, from: network).success)
        #expect(await server.terminate() == 0)
    }

    /// PostgreSQL says so to each connection before it is complete, after an update of the system's collations.
    @Test func `a notice of PostgreSQL is a line of the log, and standard error has no other lines`() async throws {
        let settings = try await TestDatabase.postgresql.settings()
        let url = try #require(settings["storage.url"])
        try await TestDatabase.setWrongCollation(url)
        let server = try ServerProcess.launch(in: TemporaryFolder(), settings: settings.merging(["log.format": "json"]) { $1 })
        #expect(await server.log.wait { $0.contains(#""message":"ready""#) })
        #expect(await server.terminate() == 0)
        let lines = server.log.all
        #expect(lines.count { $0.contains("notice of PostgreSQL") && $0.contains("collation version mismatch") } == 1, "\(lines)")
        #expect(lines.allSatisfy { $0.hasPrefix("{") && $0.hasSuffix("}") }, "\(lines)")
    }

    @Test func `an unreachable database ends the start with an exit code that requests another start`() async throws {
        let settings = ["storage.kind": "postgresql", "storage.url": "postgresql://push@/rings?host=/nowhere"]
        let launched = try ServerProcess.launch(in: TemporaryFolder(), settings: settings)
        #expect(await launched.exitCode == 69)
        #expect(launched.log.all.contains { $0.contains("the database cannot be reached: ") }, "\(launched.log.all)")
    }

    @Test func `a server creates the folder of its admin token`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(
            in: folder, on: .postgresql, settings: ["storage.path": folder.path("state/pushserver.sqlite")])
        // The history of the status page joins them at the next full minute.
        let files = try FileManager.default.contentsOfDirectory(atPath: folder.path("state"))
        #expect(Set(files).isSuperset(of: ["pushserver.sqlite.admin-token", "pushserver.sqlite.server-part"]), "\(files)")
        #expect(await server.terminate() == 0)
    }

    @Test func `a database of another identity ends the start with a configuration error`() async throws {
        let settings = try await TestDatabase.postgresql.settings()
        let url = try #require(settings["storage.url"])
        let first = try await ServerProcess.start(in: TemporaryFolder(), settings: settings)
        #expect(await first.terminate() == 0)
        // Without a key, the second server would have a new address. With another key, the database is another server's.
        let folder = try TemporaryFolder()
        let missing = try ServerProcess.launch(in: folder, settings: settings)
        #expect(await missing.exitCode == 78)
        #expect(missing.log.all.contains { $0.contains("the file does not exist, but the database \(url) belongs to the identity") })
        try folder.write(String(repeating: "1", count: 64) + "\n", to: "identity.key")
        let other = try ServerProcess.launch(in: folder, settings: settings)
        #expect(await other.exitCode == 78)
        #expect(other.log.all.contains { $0.contains("database \(url): it belongs to another identity") }, "\(other.log.all)")
    }

    @Test func `a probe warns if PostgreSQL logs the values of statements`() async throws {
        let url = try #require(try await TestDatabase.postgresql.settings()["storage.url"])
        func probe(_ options: String) async throws -> String {
            let settings = ["storage.kind=postgresql", "storage.url=\(url)&options=-c%20log_statement%3D\(options)"]
            let ended = try await ChildProcess.run("pushserver", ["check-config", "--probe"] + settings.flatMap { ["--set", $0] })
            return ended.error
        }
        let logging = try await probe("all")
        #expect(logging.contains("ok       database") && logging.contains("warning  database"), "\(logging)")
        let silent = try await probe("none")
        #expect(silent.contains("ok       database") && !silent.contains("warning  database"), "\(silent)")
    }

    @Test(arguments: [["audit"], ["registrations"], ["dead-tokens", "list"]])
    func `an operator's command opens the database that a URL names`(command: [String]) async throws {
        let settings = try await TestDatabase.postgresql.settings()
        let url = try #require(settings["storage.url"])
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: settings)
        let ended = try await ChildProcess.run("pushctl", command + ["--database", url])
        #expect(ended.exitCode == 0, "\(ended.error)")
        #expect(await server.terminate() == 0)
    }

    @Test func `a database is changed only while no server uses it, and copied only by PostgreSQL's own tools`() async throws {
        let settings = try await TestDatabase.postgresql.settings()
        let url = try #require(settings["storage.url"])
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder, settings: settings)
        let key = server.addresses.publicKey
        let running = try await ChildProcess.run("pushctl", ["forget", "--owner", key, "--database", url])
        #expect(running.exitCode == 78)
        #expect(running.error.contains("a server uses the database \(url): tested"), "\(running.error)")
        #expect(await server.terminate() == 0)
        let locked = try await {
            let lock = try OperatorLock(PostgreSQLLocation(url: url).connection(password: nil, name: "another pushctl"))
            defer { withExtendedLifetime(lock) {} }
            return try await ChildProcess.run("pushctl", ["forget", "--owner", key, "--database", url])
        }()
        #expect(locked.exitCode == 75 && locked.error.contains("another pushctl (process "), "\(locked.error)")
        let stopped = try await ChildProcess.run("pushctl", ["forget", "--owner", key, "--database", url])
        #expect(stopped.exitCode == 1 && stopped.error.contains("The server does not know that key."), "\(stopped.error)")
        let backup = try await ChildProcess.run("pushctl", ["backup", folder.path("copy"), "--database", url])
        #expect(backup.exitCode == 64 && backup.error.contains("PostgreSQL has backups of its own"), "\(backup.error)")
    }
}
