import Foundation
import Observation
import TestSupport
import Testing

/// Two servers on one PostgreSQL that fails under load, and comes back.
@Suite(.fewAtATime) struct DatabaseOutageTests {
    enum Outage: CaseIterable {
        /// `pg_ctl restart --mode=fast`.
        case restarted
        /// SIGKILL for all its processes, and a new start.
        case killed
        /// `pg_terminate_backend` for all connections, ten times.
        case disconnected
        /// The disk of the WAL is full. PostgreSQL ends, and starts when there is space again.
        case logWithoutSpace
    }

    @Test(arguments: Outage.allCases, ClusterCampaign.rounds)
    func `two servers lose no message or push, and recover by themselves when PostgreSQL returns`(outage: Outage, round: Int) async throws {
        var random = ClusterCampaign.random(round)
        let postgres = try await PostgreSQLProcess.start()
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            try await load.run {
                await load.waitForAnswers(Int.random(in: 0...40, using: &random))
                switch outage {
                case .restarted:
                    await postgres.stop()
                    try await postgres.start()
                case .killed:
                    await postgres.kill()
                    try await postgres.start()
                case .disconnected:
                    for _ in 0..<10 {
                        try await postgres.query(
                            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                                + "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()")
                    }
                case .logWithoutSpace:
                    try await postgres.limitFiles(to: 1)
                    await postgres.waitForEnd()
                    try await postgres.start()
                }
                await load.waitForAnswers(40)
            }
            try await load.check(world, servers, context: ClusterCampaign.context)
        }
        await postgres.stop()
    }

    @Test func `an audit ends on a PostgreSQL that hangs in its middle, and waits for one that only takes long`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        let server = try await ServerProcess.start(in: TemporaryFolder(), settings: postgres.serverSettings)
        #expect(await server.terminate() == 0)
        let url = try #require(postgres.serverSettings["storage.url"])
        // The table is locked for longer than a command waits without asking.
        async let locked = postgres.query("BEGIN; LOCK TABLE message; SELECT pg_sleep(6); COMMIT")
        try await OpenWaits.during("the lock of a table") {
            while try await postgres.query("SELECT count(*) FROM pg_locks WHERE mode = 'AccessExclusiveLock' AND granted") == "0" {
                try Task.checkCancellation()
            }
        }
        try await server.audit()
        _ = try await locked

        let gate = try SocketGate(to: postgres.socket)
        gate.hold(at: "GROUP BY 1, 2, 3", passes: true)
        let environment = ChildProcess.environment.merging([
            "PUSHSERVER_STORAGE_SEALING_KEY_FILE": server.folder.path("sealing.key")
        ]) { $1 }
        let arguments = ["audit", "--database", url.replacing(postgres.socket, with: gate.socket)]
        async let audit = ChildProcess.run("pushctl", arguments, environment: environment)
        await gate.waitForHeld()
        postgres.freeze()
        let ended = try await audit
        #expect(ended.exitCode == 69)
        #expect(ended.error.contains("has not answered within 1 s"), "\(ended.error)")
        postgres.thaw()
        await postgres.stop()
    }

    enum Trouble: CaseIterable {
        /// It answers nothing, and its connections stay open, as with a machine that has died.
        case hanging
        case away
        case readOnly
    }

    @Test(arguments: Trouble.allCases)
    func `in trouble of PostgreSQL, pages and metrics show the last figures and their age, and accuse no node and no gorush`(
        trouble: Trouble
    ) async throws {
        let postgres = try await PostgreSQLProcess.start()
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            try await load.run { await load.waitForAnswers(20) }
            for server in servers {
                try await AdminClient(server).body(of: "/metrics") {
                    $0.contains("\npushserver_cluster_members 2\n") && $0.contains("\npushserver_registrations 12\n")
                }
            }
            switch trouble {
            case .hanging: postgres.freeze()
            case .away: await postgres.stop()
            case .readOnly: try await postgres.setReadOnly(true)
            }
            for server in servers {
                try await server.waitUntilNotReady(because: "the database")
                let admin = AdminClient(server)
                let metrics = try await admin.body(of: "/metrics") { $0.contains("\npushserver_not_ready{cause=\"store\"} 1\n") }
                for line in [
                    "pushserver_ready 0", "pushserver_not_ready{cause=\"node\"} 0", "pushserver_not_ready{cause=\"gorush\"} 0",
                    "pushserver_cluster_members 2", "pushserver_registrations 12",
                ] {
                    #expect(metrics.contains("\n\(line)\n"), "\(line)")
                }
                #expect(metrics.contains(/\npushserver_node_up\{node="[^"]+"\} 1\n/))
                func status(_ body: String) throws -> StatusSnapshot {
                    try JSONDecoder().decode(StatusSnapshot.self, from: Data(body.utf8))
                }
                let shown = try status(
                    try await admin.body(of: "/status.json") { (try? status($0))?.issues.map(\.kind) == ["store"] })
                #expect(shown.store.registrations == 12 && shown.members?.map(\.name) == ["one", "two"])
                #expect(shown.nodes.map(\.isUsable) == [true] && shown.routes.map(\.isDelivering) == [true, true])
                #expect(shown.issues.allSatisfy { $0.advice.contains("Check PostgreSQL") && !$0.command.contains("df -h") })
                #expect(try await admin.get("/").body.contains("<h2>Waiting, all servers"))
                if trouble == .hanging {
                    try await admin.body(of: "/") { $0.contains("<h2>Servers of the database, as of ") }
                }
                if trouble != .readOnly { #expect(try await admin.get("/pushes/\(String(repeating: "0", count: 64))").status == 503) }
            }
            if trouble == .hanging {
                for command in ["audit", "cluster", "registrations"] {
                    let ended = try await world.pushctl(command)
                    #expect(ended.exitCode == 69 && ended.error.contains(" has not answered within 1 s. `pushctl top` "), "\(ended.error)")
                }
            }
            switch trouble {
            case .hanging: postgres.thaw()
            case .away: try await postgres.start()
            case .readOnly: try await postgres.setReadOnly(false)
            }
            for server in servers {
                #expect(await server.log.wait { $0.contains(" warning [Daemon] ready again after=") })
                // The return has no other reasons than the trouble, such as a node.
                let reasons = server.log.all.filter { $0.contains(" not ready reasons=") }
                #expect(reasons.allSatisfy { !$0.contains("node 127") && !$0.contains("(0)") }, "\(reasons)")
            }
            try await load.run { await load.waitForAnswers(20) }
            try await load.check(world, servers)
        }
        await postgres.stop()
    }

    @Test func `a full disk of PostgreSQL makes the servers unready until it has space again`() async throws {
        let postgres = try await PostgreSQLProcess.start()
        try await withClusterWorld(["one", "two"], database: postgres.serverSettings) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            let load = ClusterLoad(server: try serverKey(of: servers[0]), on: world.bus)
            try await load.run {
                await load.waitForAnswers(20)
                // Files of the WAL have 1 MiB, and a table of messages has more after these.
                try await postgres.limitFiles(to: 1_100_000)
                try await load.writeLargeMessages(count: 4, byteCount: 500_000)
                // A write that finds free space in its table may make a server ready again at any time.
                for server in servers { #expect(await server.logsNotReady(because: "SQLSTATE 53100")) }
                try await postgres.limitFiles(to: nil)
                for server in servers { #expect(await server.log.wait { $0.contains(" warning [Daemon] ready again after=") }) }
                await load.waitForAnswers(40)
            }
            try await load.check(world, servers)
        }
        await postgres.stop()
    }
}
