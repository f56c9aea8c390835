import Bytes
import Envelope
import Foundation
import MetricDeclarations
import TestServers
import TestSupport
import Testing
import Transport

@testable import Daemon
@testable import Settings

/// Canary and metrics of two servers on one PostgreSQL database.
@Suite(.fewAtATime) struct ClusterObservationTests {
    @Test func `a canary works whichever server decides its messages, next to another server's canary, and gorush gets nothing`()
        async throws
    {
        try await withClusterWorld(["one", "two"]) { world in
            let servers = [try await world.start("one"), try await world.start("two")]
            // The canaries have a node of their own, so either server decides each of their 36 messages.
            try await Self.withCanaries(["three", "four"], in: world) { canaries in
                await withTaskGroup { group in
                    for canary in canaries {
                        group.addTask {
                            for _ in 1...6 { #expect(await canary.check(), "\(canary.warnings)") }
                        }
                    }
                }
            }
            for server in servers {
                #expect(try await AdminClient(server).metric("pushserver_messages_total") > 0)
                #expect(await server.terminate() == 0)
            }
            #expect(world.gorush.notifications.all.isEmpty)
            try await world.audit()
        }
    }

    @Test func `a canary whose earlier run had a clock that was ahead registers above its version`() async throws {
        try await withClusterWorld(["one"]) { world in
            let server = try await world.start("one")
            let ahead = ManualWallClock(WallClock.system.now().advanced(by: .seconds(3_600))).clock
            // The version of a client without a state is its clock.
            let version = UInt64(clamping: ahead.now().nanoseconds / 1_000_000)
            try await Self.withCanaries(["three", "three"], clocks: [ahead, .system], storedVersion: version, in: world) { runs in
                for run in runs + runs.suffix(1) { #expect(await run.check(), "\(run.warnings)") }
            }
            #expect(await server.terminate() == 0)
            try await world.audit()
        }
    }

    @Test func `the canaries of three servers stay green, also while one of the servers leaves and returns`() async throws {
        let names = ["one", "two", "three"]
        try await withClusterWorld(names) { world in
            let canary = ["canary.interval": "10s"]
            func succeed(_ server: ServerProcess) async throws {
                let admin = AdminClient(server)
                let before = try await admin.metric("pushserver_canary_checks_total{result=\"succeeded\"}")
                try await admin.body(of: "/metrics") { body in
                    body.split(separator: "\n").contains { line in
                        guard line.hasPrefix("pushserver_canary_checks_total{result=\"succeeded\"} ") else { return false }
                        return line.split(separator: " ").last.flatMap { Double($0) } ?? 0 > before
                    }
                }
            }
            var servers: [ServerProcess] = []
            for name in names { servers.append(try await world.start(name, database: canary)) }
            for server in servers { try await succeed(server) }
            #expect(await servers[0].terminate() == 0)
            for server in servers.dropFirst() { try await succeed(server) }
            servers[0] = try await world.start("one", database: canary)
            for server in servers { try await succeed(server) }
            for server in servers {
                #expect(!server.log.all.contains { $0.contains("the canary fails") }, "\(server.log.all)")
                #expect(await server.terminate() == 0)
            }
            #expect(world.gorush.notifications.all.isEmpty)
            try await world.audit()
        }
    }

    private static func withCanaries(
        _ names: [String], clocks: [WallClock] = [.system, .system], storedVersion: UInt64? = nil, in world: ClusterWorld,
        _ body: ([Canary]) async -> Void
    ) async throws {
        let network = EmbeddedTransport(bus: world.bus, pubsubTopics: ["/waku/2/rs/16/32"])
        var transport: any MessageTransport = network
        var canaries: [Canary] = []
        for (name, wallClock) in zip(names, clocks) {
            let node = CanaryNode(transport: network)
            transport = CanaryTransport(transport: transport, canary: node)
            canaries.append(
                try Canary(
                    CanarySettings(interval: .seconds(60)), identity: world.identity, serverName: name, node: node,
                    pubsubTopic: "/waku/2/rs/16/32", clock: ContinuousClock(), wallClock: wallClock, logger: quietLogger,
                    storedVersion: { _ in storedVersion }))
        }
        let running = transport
        try await withThrowingTaskGroup { group in
            // It runs without a pause until the network has its receiver.
            group.addImmediateTask { try await running.run(receiver: NoReceiver()) }
            #expect(network.healthIssues.isEmpty)
            await body(canaries)
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `what the metrics declare to be of the whole database is the same at both servers`() async throws {
        try await withClusterWorld(["one", "two"]) { world in
            let one = try await world.start("one")
            let two = try await world.start("two")
            let clients = try Clients(of: two, on: world.bus)
            try await clients.registerOwners()
            world.gorush.breakDown(.answer(status: 503), hidesConfiguration: true)
            try await clients.write(0..<1)
            await clients.waitForAnswers(to: 1)
            try await world.waitForCluster { $0.contains("one") && $0.contains("two") }

            let ofDatabase = Set(ServerMetrics.declarations.filter { $0.scope == .database }.map(\.name))
            func figures(_ server: ServerProcess) async throws -> [String] {
                try await AdminClient(server).get("/metrics").body.split(separator: "\n").map(String.init).filter { line in
                    // The size of the database and the age of the push change between two scrapes.
                    ofDatabase.contains(String(line.prefix { $0 != " " && $0 != "{" })) && !line.hasPrefix("pushserver_database_bytes")
                        && !line.hasPrefix("pushserver_outbox_oldest_age_seconds")
                }
            }
            func isCurrent(_ lines: [String]) -> Bool {
                lines.contains("pushserver_cluster_members 2")
                    && lines.contains { $0.hasPrefix("pushserver_route_pushes_queued{") && $0.hasSuffix(" 1") }
                    && lines.contains { $0.hasPrefix("pushserver_registrations ") && !$0.hasSuffix(" 0") }
            }
            // Each server reads the database for its metrics in an interval of its own.
            var lines: [[String]] = [[], []]
            try await OpenWaits.during("equal metrics of both servers") {
                while !lines.allSatisfy(isCurrent) || lines[0] != lines[1] {
                    try Task.checkCancellation()
                    lines = [try await figures(one), try await figures(two)]
                }
            }
            // The rest is a server's own. What both have in common describes their equal settings, or is a yes.
            let ofServer = ServerMetrics.declarations.filter { $0.scope == .server && $0.kind == .gauge }.map(\.name)
            func own(_ server: ServerProcess) async throws -> Set<String> {
                Set(
                    try await AdminClient(server).get("/metrics").body.split(separator: "\n").map(String.init).filter { line in
                        ofServer.contains(String(line.prefix { $0 != " " && $0 != "{" })) && !line.hasSuffix(" 0")
                    })
            }
            let common = Set(try await own(one).intersection(own(two)).map { String($0.prefix { $0 != " " && $0 != "{" }) })
            let equal: Set = [
                "process_max_fds", "process_open_fds", "pushserver_build_info", "pushserver_node_compared_period_seconds",
                "pushserver_not_ready",
                "pushserver_open_files_limit", "pushserver_ready",
                "pushserver_route_breaker_open", "pushserver_route_workers", "pushserver_topic_directory_entries",
            ]
            #expect(common.subtracting(equal) == [])
            for server in [one, two] { #expect(await server.terminate() == 0) }
        }
    }
}

/// The server behind a transport that only canaries use.
private struct NoReceiver: EnvelopeReceiver {
    func isInterested(in contentTopic: String) -> Bool { false }
    func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) async throws {}
}
