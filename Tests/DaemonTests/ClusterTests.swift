import Envelope
import Glibc
import StatusCrypto
import TestSupport
import Testing
import Transport

/// Two servers with one identity on one PostgreSQL database, each at a node of its own, while clients write.
@Suite(.fewAtATime) struct ClusterTests {
    /// The end of one of the servers.
    enum Interruption: CaseIterable {
        /// An update stops the server.
        case drained
        case killed
        /// SIGSTOP, for so long that the other server takes over its work, and then SIGCONT.
        case frozen
    }

    @Test(arguments: Interruption.allCases)
    func `two servers answer and deliver everything while one of them ends and returns`(interruption: Interruption) async throws {
        try await withStubGorush { gorush in
            let bus = Bus()
            let nodes = try (0..<2).map { _ in try RestartableNode(on: bus, clock: .system) }
            for node in nodes { await node.start() }
            let world = try await ClusterWorld(nodes: nodes.map(\.url), gorush: await gorush.url)
            var one = try await world.start("one")
            let two = try await world.start("two")
            let clients = try Clients(of: two, on: bus)
            try await clients.registerOwners()
            try await clients.write(0..<8)

            async let load: Void = clients.write(8..<16)
            switch interruption {
            case .drained: #expect(try await world.drain(one) == 0)
            case .killed: await one.kill()
            case .frozen: one.signal(SIGSTOP)
            }
            try await load
            try await clients.write(16..<20)
            await clients.waitForAnswers(to: 20)
            if interruption == .frozen {
                try await world.waitForCluster { $0.contains("one (1): fenced") }
                one.signal(SIGCONT)
                // Its number is another one once it has joined again.
                try await world.waitForCluster { $0.contains("one (3): alive") }
            } else {
                one = try await world.start("one")
            }
            try await clients.write(20..<32)
            await clients.waitForAnswers(to: 32)
            await gorush.waitForNotifications(count: clients.senders.count)

            #expect(await one.terminate() == 0)
            #expect(await two.terminate() == 0)
            try await world.audit()
            let answers = clients.answerCounts
            if interruption == .drained {
                #expect(answers == Array(repeating: 2, count: clients.senders.count))
                #expect(gorush.notifications.all.count == clients.senders.count)
            } else {
                #expect(answers.allSatisfy { $0 >= 2 })
            }
            for node in nodes { await node.kill() }
        }
    }
}

/// The files and settings of servers that share a database.
private struct ClusterWorld: Sendable {
    private let folder: TemporaryFolder
    private let url: String
    private let settings: [String: String]
    private let nodes: [String: String]

    init(nodes: [String], gorush: String) async throws {
        folder = try TemporaryFolder()
        let database = try await TestDatabase.postgresql.settings()
        url = database["storage.url"] ?? ""
        self.nodes = Dictionary(uniqueKeysWithValues: zip(["one", "two"], nodes))
        settings = database.merging([
            "identity.keyFile": folder.path("shared.key"), "storage.sealingKeyFile": folder.path("shared-sealing.key"),
            "gorush.url": gorush, "transport.kind": "waku", "transport.waku.pollInterval": "20ms",
        ]) { $1 }
    }

    /// Starts a server; a second start under the same name is that of its successor.
    func start(_ name: String) async throws -> ServerProcess {
        let own = ["server.name": name, "transport.waku.url": nodes[name] ?? "", "storage.path": folder.path("\(name).sqlite")]
        return try await ServerProcess.start(in: TemporaryFolder(), settings: settings.merging(own) { $1 })
    }

    /// Stops a server as an update does. Returns its exit code.
    func drain(_ server: ServerProcess) async throws -> Int32 {
        let arguments = ["storage.path=\(folder.path("one.sqlite"))", "admin.listen=\(server.addresses.admin)"]
        let drain = try await ChildProcess.run("pushserver", ["serve", "--drain"] + arguments.flatMap { ["--set", $0] })
        #expect(drain.exitCode == 0, "\(drain.error)")
        return await server.exitCode
    }

    /// Returns when `pushctl cluster` shows it.
    func waitForCluster(_ isSo: (String) -> Bool) async throws {
        while true {
            let cluster = try await ChildProcess.run("pushctl", ["cluster", "--database", url])
            #expect(cluster.exitCode == 0, "\(cluster.error)")
            if isSo(cluster.output) { return }
            try Task.checkCancellation()
        }
    }

    func audit() async throws {
        let audit = try await ChildProcess.run("pushctl", ["audit", "--database", url])
        #expect(audit.exitCode == 0, "\(audit.output) \(audit.error)")
        let servers = audit.output.split(separator: "\n").filter { $0.hasPrefix("server ") }
        #expect(servers.map { $0.prefix { $0 != ":" } } == ["server one", "server two"], "\(audit.output)")
    }
}
