import Bytes
import Envelope
import Foundation
import ServerFiles
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport
import Wire

/// Servers that share a database, each at a node of its own.
struct ClusterWorld: Sendable {
    let bus = Bus()
    let nodes: [RestartableNode]
    let gorush: StubGorush
    private let names: [String]
    private let folder: TemporaryFolder
    private let url: String
    private let settings: [String: String]
    private let clock: PreloadedClock?

    /// Starts the nodes.
    ///
    /// - Parameter database: The settings of the database.
    fileprivate init(names: [String], database: [String: String], clock: PreloadedClock?, gorush: StubGorush) async throws {
        self.names = names
        self.clock = clock
        self.gorush = gorush
        let bus = bus
        nodes = try names.map { _ in try RestartableNode(on: bus, clock: clock?.wallClock ?? .system) }
        for node in nodes { await node.start() }
        folder = try TemporaryFolder()
        url = database["storage.url"] ?? ""
        settings = database.merging([
            "identity.keyFile": folder.path("shared.key"), "storage.sealingKeyFile": folder.path("shared-sealing.key"),
            "gorush.url": await gorush.url, "transport.kind": "waku", "transport.waku.pollInterval": "20ms",
            // The cache of a stand-in node is as small as that of a real one by default, and overflows while a server does not poll.
            "transport.waku.cacheCapacity": "50",
        ]) { $1 }
    }

    /// Starts a server; a second start under the same name is that of its successor.
    ///
    /// - Parameter database: The settings of the database, if this server reaches it in another way than the others.
    func start(_ name: String, database: [String: String] = [:]) async throws -> ServerProcess {
        let node = names.firstIndex(of: name).map { nodes[$0] }
        let own = ["server.name": name, "transport.waku.url": node?.url ?? "", "storage.path": folder.path("\(name).sqlite")]
        let all = settings.merging(own) { $1 }.merging(database) { $1 }
        return try await ServerProcess.start(in: TemporaryFolder(), settings: all, environment: clock?.environment ?? [:])
    }

    /// Stops the server "one" as an update does. Returns its exit code.
    func drain(_ server: ServerProcess) async throws -> Int32 {
        let arguments = ["storage.path=\(folder.path("one.sqlite"))", "admin.listen=\(server.addresses.admin)"]
        let drain = try await ChildProcess.run("pushserver", ["serve", "--drain"] + arguments.flatMap { ["--set", $0] })
        #expect(drain.exitCode == 0, "\(drain.error)")
        return await server.exitCode
    }

    /// Returns when `pushctl cluster --all` shows the text.
    func waitForCluster(file: StaticString = #fileID, line: Int = #line, _ isSo: (String) -> Bool) async throws {
        try await OpenWaits.during("\(file):\(line), for a condition of pushctl cluster") {
            while true {
                let cluster = try await pushctl("cluster", "--all")
                #expect(cluster.exitCode == 0, "\(cluster.error)")
                if isSo(cluster.output) { return }
                try Task.checkCancellation()
            }
        }
    }

    /// Runs an operator's command on the database.
    func pushctl(_ arguments: String...) async throws -> ChildProcess.Ended {
        try await ChildProcess.run("pushctl", arguments + ["--database", url])
    }

    /// The key of the servers, once one has started.
    var identity: PrivateKey {
        get throws { try #require(try KeyFile(path: folder.path("shared.key")).load()) }
    }

    func audit() async throws {
        let audit = try await pushctl("audit")
        #expect(audit.exitCode == 0, "\(audit.output) \(audit.error)")
        let lines = audit.output.split(separator: "\n")
        for name in names { #expect(lines.contains { $0.hasPrefix("server \(name): ") }, "\(audit.output)") }
    }

    /// The stored version of a client's registration; nil if none is stored.
    func version(of client: ProtocolClient) async throws -> UInt64? {
        struct Shown: Decodable { var version: String }
        let shown = try await pushctl("registrations", "--json", "--owner", Hex.encode(client.keyHash.bytes))
        return try JSONDecoder().decode([Shown].self, from: Data(shown.output.utf8)).first.flatMap { UInt64($0.version) }
    }

    /// The state of each push to a client, and why its newest attempt failed or its wait ended.
    func pushes(to client: ProtocolClient) async throws -> [TracedPush] {
        let traced = try await pushctl(
            "trace", "--json", "--owner", Hex.encode(client.keyHash.bytes), "--installation", client.registration().installationID)
        return traced.exitCode == 0 ? try JSONDecoder().decode([TracedPush].self, from: Data(traced.output.utf8)) : []
    }

    /// Returns when the states of a client's pushes are these.
    func waitForPushes(to client: ProtocolClient, _ states: [String]) async throws {
        try await OpenWaits.during("pushes that are \(states)") {
            while try await pushes(to: client).map(\.state) != states { try Task.checkCancellation() }
        }
    }

    struct TracedPush: Decodable {
        var state: String?
        var reason: String?
    }

    /// The number of rows that a table has, or the sum of a column.
    func number(_ sql: String) async throws -> Int {
        let ended = try await ChildProcess.run("/usr/bin/psql", [url, "-XAtqc", "SELECT \(sql)"])
        return try #require(Int(ended.output), "\(ended.error)")
    }
}

/// Runs a test with the nodes of servers that share a database.
///
/// - Parameter clock: The clock of nodes and servers, or nil for the system's.
func withClusterWorld(
    _ names: [String], database: [String: String]? = nil, clock: PreloadedClock? = nil, _ body: (ClusterWorld) async throws -> Void
) async throws {
    try await withStubGorush { gorush in
        let database = if let database { database } else { try await TestDatabase.postgresql.settings() }
        let world = try await ClusterWorld(names: names, database: database, clock: clock, gorush: gorush)
        try await body(world)
        for node in world.nodes { await node.kill() }
    }
}

extension ServerProcess {
    /// Returns when the server has logged that it is not ready, and its health check gives this reason. The log has only the first one.
    func waitUntilNotReady(because reason: String) async throws {
        #expect(await logsNotReady())
        try await AdminClient(self).body(of: "/health/ready") { $0.contains("\"ready\":false") && $0.contains(reason) }
        try await expectReadiness(503)
    }

    /// Waits for the line of the log that says that the server is not ready, for this reason if one is given.
    func logsNotReady(because reason: String = "") async -> Bool {
        await log.wait { $0.contains(" warning [Daemon] not ready reasons=") && (reason.isEmpty || $0.contains(reason)) }
    }

    func expectReadiness(_ status: Int) async throws {
        #expect(try await AdminClient(self).get("/health/ready").status == status)
    }
}
