import Daemon
import Foundation
import GRDB
import Observation
import ServerFiles
import Store
import TestServers
import TestSupport
import Testing

/// The checks of a server before it serves, and its exit after a failed one.
@Suite(.fewAtATime)
struct StartTests {
    enum Way: CaseIterable {
        case samePath
        case symbolicLink
        case hardLink
    }

    @Test(arguments: Way.allCases)
    func `a second server cannot use the database over any path or link`(way: Way) async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        let path = try database(of: folder, way)
        let second = try await serve(in: folder, "storage.path=\(path)")
        #expect(second.exitCode == 78)
        #expect(second.error.contains("another process, a server or pushctl, uses the database \(path)"), "\(second.error)")
        #expect(await server.terminate() == 0)
    }

    /// A server that is killed before it creates its tables leaves an empty file.
    @Test(arguments: Way.allCases) func `a second server does not migrate the database of the first`(way: Way) async throws {
        let folder = try TemporaryFolder()
        try folder.write("", to: "push.sqlite")
        // The first server locks its database like this.
        let descriptor = unsafe open(folder.path("push.sqlite"), O_RDWR | O_CLOEXEC)
        defer { close(descriptor) }
        try #require(flock(descriptor, LOCK_EX | LOCK_NB) == 0)
        let second = try await serve(in: folder, "storage.path=\(database(of: folder, way))")
        #expect(second.exitCode == 78 && second.error.contains("another process"), "\(second.error)")
        #expect(try Data(contentsOf: URL(filePath: folder.path("push.sqlite"))).isEmpty)
        #expect(!FileManager.default.fileExists(atPath: folder.path("push.sqlite-wal")))
        #expect(!FileManager.default.fileExists(atPath: folder.path("identity.key")))
    }

    @Test func `a start without the database that a server has used is tried again by the service manager`() async throws {
        let folder = try TemporaryFolder()
        #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
        try FileManager.default.removeItem(atPath: folder.path("push.sqlite"))
        let result = try await serve(in: folder)
        #expect(result.exitCode == 75)
        #expect(result.error.contains("the database \(folder.path("push.sqlite")) is gone"), "\(result.error)")
    }

    @Test(arguments: [(ENOSPC, 75), (EROFS, 75), (EACCES, 78)] as [(Int32, Int32)])
    func `a disk that is full or read-only for the moment is tried again by the service manager`(errno: Int32, status: Int32) {
        #expect(ExitStatus.code(for: StoreError.inaccessible(errno: errno)) == status)
        /// What the disk refuses for the moment, such as a key file.
        struct Refusal: FileError { let isTemporary = true }
        #expect(ExitStatus.code(for: Refusal()) == 75)
        #expect(ExitStatus.code(for: StoreError.unavailable(code: 13, text: "database or disk is full")) == 75)
    }

    @Test func `a umask that takes rights from the owner leaves files that the next start can read`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess(ServerProcess.launch(in: folder, shell: "umask 0777"))
        for name in ["identity.key", "sealing.key", "push.sqlite", "push.sqlite.admin-token"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: folder.path(name))
            #expect(attributes[.posixPermissions] as? Int == 0o600, "\(name)")
        }
        #expect(await server.terminate() == 0)
    }

    @Test func `a folder in which others may write is a warning at the start`() async throws {
        let folder = try TemporaryFolder()
        for (mode, isWarned) in [(0o755, false), (0o775, true), (0o757, true)] {
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: folder.path(""))
            let server = try await ServerProcess.start(in: folder)
            #expect(server.log.all.contains { $0.contains("run: chmod go-w \(folder.url.path())") } == isWarned, "\(server.log.all)")
            #expect(await server.terminate() == 0)
        }
    }

    @Test func `a start that fails half-way closes the database`() async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("push.sqlite.admin-token"), withIntermediateDirectories: false)
        let result = try await serve(in: folder)
        #expect(result.exitCode == 78)
        #expect(result.error.contains("admin token cannot be written to \(folder.path("push.sqlite.admin-token"))"), "\(result.error)")
        #expect(FileManager.default.fileExists(atPath: folder.path("push.sqlite")))
        #expect(!FileManager.default.fileExists(atPath: folder.path("push.sqlite-wal")))
    }

    @Test(arguments: ["admin.listen", "transport.embedded.listen"])
    func `a port in use is reported with its setting`(setting: String) async throws {
        let other = try RawServer { _ in }
        let result = try await serve(in: TemporaryFolder(), "\(setting)=127.0.0.1:\(other.port)")
        #expect(result.exitCode == 75)
        let problem = "pushserver: \(setting): cannot listen on 127.0.0.1:\(other.port): Address already in use"
        #expect(result.error.split(separator: "\n").last.map { $0 == problem } == true, "\(result.error)")
        other.stop()
    }

    enum Unusable: CaseIterable {
        case otherIdentity
        case otherProgram
        case laterVersion
        case earlierVersion
        case noFolder
    }

    @Test(arguments: Unusable.allCases) func `an unusable database is reported with its path and the next step`(unusable: Unusable)
        async throws
    {
        let folder = try TemporaryFolder()
        var path = folder.path("push.sqlite")
        let advice: String
        switch unusable {
        case .otherIdentity:
            #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
            try FileManager.default.removeItem(atPath: folder.path("identity.key"))
            try folder.write(String(repeating: "7", count: 64), to: "identity.key")
            advice = "belongs to another identity than the one in \(folder.path("identity.key"))"
        case .otherProgram:
            try await DatabaseQueue(path: path).write { try $0.execute(sql: "CREATE TABLE theirs (id)") }
            advice = "set storage.path or storage.url to another one"
        case .laterVersion:
            #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
            try ServerDatabase(path: path).execute("INSERT INTO grdb_migrations VALUES ('of-the-future')")
            advice = "Start the version that wrote it"
        case .earlierVersion:
            #expect(await (try ServerProcess.start(in: folder)).terminate() == 0)
            try ServerDatabase(path: path).execute("DELETE FROM grdb_migrations WHERE identifier <> '0.1.0'")
            advice = "let pushserver 0.3 open it once, then start this version"
        case .noFolder:
            try folder.write("", to: "file")
            path = folder.path("file/push.sqlite")
            advice = "Not a directory"
        }
        let result = try await serve(in: folder, "storage.path=\(path)")
        #expect(result.exitCode == 78)
        #expect(result.error.contains("pushserver: database \(path): ") && result.error.contains(advice), "\(result.error)")
    }

    @Test(arguments: ["serve", "identity --create"])
    func `a lost or mistyped key file is never replaced while the database of its server exists`(command: String) async throws {
        let folder = try TemporaryFolder()
        let first = try await ServerProcess.start(in: folder)
        #expect(await first.terminate() == 0)
        let publicKey = first.addresses.publicKey
        try FileManager.default.moveItem(atPath: folder.path("identity.key"), toPath: folder.path("backup.key"))
        let settings = ["identity.keyFile=\(folder.path("identity.key"))", "storage.path=\(folder.path("push.sqlite"))"]
        let words = command.split(separator: " ").map(String.init)
        let ended = try await ChildProcess.run("pushserver", words + settings.flatMap { ["--set", $0] })
        #expect(ended.exitCode == 78 && ended.output.isEmpty)
        let keyFile = "pushserver: key file \(folder.path("identity.key")): the file does not exist"
        let sentence = "\(keyFile), but the database \(folder.path("push.sqlite")) belongs"
        #expect(ended.error.contains(sentence) && ended.error.contains(publicKey.dropFirst(4).prefix(64)), "\(ended.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("identity.key")))
        try FileManager.default.moveItem(atPath: folder.path("backup.key"), toPath: folder.path("identity.key"))
        let again = try await ServerProcess.start(in: folder)
        #expect(again.addresses.publicKey == publicKey)
        #expect(await again.terminate() == 0)
    }

    @Test func `a new key and a new database are reported with their paths, the second start reports neither`() async throws {
        let folder = try TemporaryFolder()
        let first = try await ServerProcess.start(in: folder)
        #expect(await first.terminate() == 0)
        let keyLine = try #require(first.log.all.first { $0.contains(" warning [ServerFiles] created a new identity key") })
        #expect(keyLine.contains("keyFile=\(folder.path("identity.key")) publicKey=\(first.addresses.publicKey)"))
        #expect(first.log.all.contains { $0.contains(" notice [SQLiteStore] created the database database=\(folder.path("push.sqlite"))") })
        let second = try await ServerProcess.start(in: folder)
        #expect(await second.terminate() == 0)
        #expect(!second.log.all.contains { $0.contains("created") || $0.contains("the identity key exists") })
        let other = try await ServerProcess.start(in: folder, settings: ["storage.path": folder.path("mistyped.sqlite")])
        #expect(await other.terminate() == 0)
        let warning = " warning [ServerFiles] the identity key exists, its database does not: starting with an empty database "
        #expect(other.log.all.contains { $0.contains(warning + "database=\(folder.path("mistyped.sqlite"))") })
    }

    @Test(arguments: ["nowhere/ready", "folder"])
    func `an unwritable ready file is reported before any service starts`(name: String) async throws {
        let folder = try TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path("folder/not-empty"), withIntermediateDirectories: true)
        let result = try await serve(in: folder, readyFile: folder.path(name))
        #expect(result.exitCode == 78)
        #expect(result.error.contains("the ready file \(folder.path(name)) cannot be written: "), "\(result.error)")
        #expect(!FileManager.default.fileExists(atPath: folder.path("push.sqlite")))
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path(".")) == ["folder"])
    }

    @Test func `the log begins with the version, and with where the settings come from`() async throws {
        let folder = try TemporaryFolder()
        try folder.write("log: { level: info }\n", to: "pushserver.yaml")
        try folder.write("no key", to: "identity.key")
        let result = try await serve(
            in: folder, configuration: folder.path("pushserver.yaml"), environment: ["PUSHSERVER_GORUSH_HEADERS": "X-Secret: hush"])
        let line = try #require(result.error.split(separator: "\n").first)
        #expect(line.contains("] starting commit=") && line.contains(" version=\(BuildInfo.version)"), "\(line)")
        #expect(line.contains("\(folder.path("pushserver.yaml")), PUSHSERVER_GORUSH_HEADERS, flag admin.listen"), "\(line)")
        #expect(!result.error.contains("hush"))
    }

    @Test func `a text log line has the message first, and then the fields`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        #expect(await server.terminate() == 0)
        let line = try #require(server.log.all.first { $0.contains("starting") })
        let pattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z notice \[Daemon\] starting commit=\S+ openFiles=\d+ pubsubTopics=\S+ .*/
        #expect(line.wholeMatch(of: pattern) != nil, "\(line)")
        // Quotes mark a value that contains blanks.
        #expect(line.contains(#" settings="flag admin.listen, "#), "\(line)")
    }

    @Test func `a JSON log line names the module`() async throws {
        let server = try ServerProcess.launch(in: TemporaryFolder(), settings: ["log.format": "json"])
        #expect(await server.log.wait { $0.contains(#""message":"ready""#) })
        #expect(await server.terminate() == 0)
        let lines = try server.log.all.map { try JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
        let start = try #require(lines.first { $0["message"] == "starting" })
        #expect(start["module"] == "Daemon" && start["level"] == "notice" && start["version"] == BuildInfo.version)
        #expect(lines.contains { $0["module"] == "Relay" || $0["module"] == "Hummingbird" || $0["module"] == "HummingbirdCore" })
    }

    // MARK: Helpers

    private func database(of folder: TemporaryFolder, _ way: Way) throws -> String {
        let (path, other) = (folder.path("push.sqlite"), folder.path("other.sqlite"))
        switch way {
        case .samePath: return path
        case .symbolicLink: try FileManager.default.createSymbolicLink(atPath: other, withDestinationPath: path)
        case .hardLink: try FileManager.default.linkItem(atPath: path, toPath: other)
        }
        return other
    }

    /// Runs a server whose start fails. All its files are in the folder.
    private func serve(
        in folder: TemporaryFolder, _ settings: String..., configuration: String? = nil, readyFile: String? = nil,
        environment: [String: String] = [:]
    ) async throws -> (exitCode: Int32, error: String) {
        let all =
            [
                "identity.keyFile=\(folder.path("identity.key"))", "storage.path=\(folder.path("push.sqlite"))",
                "admin.listen=127.0.0.1:0", "transport.embedded.listen=127.0.0.1:0",
            ] + settings
        let server = try ChildProcess(
            "pushserver",
            ["serve"] + (configuration.map { ["--config", $0] } ?? []) + (readyFile.map { ["--ready-file", $0] } ?? [])
                + all.flatMap { ["--set", $0] },
            environment: environment)
        // Do not wait for a server whose start succeeds.
        if await server.standardError.wait(for: { $0.hasSuffix("] ready") }) { server.signal(SIGKILL) }
        let exitCode = await server.exitCode
        await server.standardError.waitForEnd()
        return (exitCode, server.standardError.all.joined(separator: "\n"))
    }

    /// In a container, each start of the service has process id 1.
    @Test func `files that a killed process left behind do not keep a server from starting`() async throws {
        let folder = try TemporaryFolder()
        let leftovers = ["push.sqlite.admin-token", "pushserver.json"].map { folder.path("\($0).0123456789abcdef.new") }
        // The shell becomes the server: `$$` is the id that the server will have.
        let server = try await ServerProcess(
            ServerProcess.launch(
                in: folder,
                shell: """
                    cd '\(folder.path("."))'; touch push.sqlite.admin-token.$$.new pushserver.json.$$.new \
                    '\(leftovers[0])' '\(leftovers[1])'
                    """))
        for leftover in leftovers { #expect(!FileManager.default.fileExists(atPath: leftover)) }
        #expect(await server.terminate() == 0)
    }

    @Test func `a second server that is refused leaves the ready file of the first one`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        #expect(try await serve(in: folder, readyFile: folder.path("pushserver.json")).exitCode != 0)
        #expect(FileManager.default.fileExists(atPath: folder.path("pushserver.json")))
        #expect(await server.terminate() == 0)
    }
}
