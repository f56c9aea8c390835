import Envelope
import Foundation
import GRDB
import ServerFiles
import StatusCrypto
import Store
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// The effect of signals on a server, even while a dependency hangs (INTERFACE.md, "Signals").
@Suite(.fewAtATime)
struct ShutdownTests {
    enum End: CaseIterable {
        case gracePeriodIsOver
        case secondSIGTERM
        case secondSIGINT
    }

    @Test(arguments: End.allCases, TestDatabase.allCases)
    func `an attempt at a gorush that never responds is retried after the next start`(
        end: End, kind: TestDatabase
    ) async throws {
        try await withPushUnderWay(on: kind, gracePeriod: end == .gracePeriodIsOver ? "1s" : "600s") { world, settings in
            let (server, database) = (world.server, world.database)
            server.signal(SIGTERM)
            #expect(await server.log.wait { $0.contains("] draining") })
            switch end {
            case .gracePeriodIsOver:
                #expect(await server.exitCode == 0, "\(server.log.all)")
                #expect(try database.count("push WHERE state = \(OpenPushState.unknown.rawValue)") == 1)
                #expect(try database.ledgerCount("uncertain") == 1)
                // gorush may still send it, so it waits 150 s, which the restart doesn't end.
                #expect(try database.count("push WHERE next_attempt_at > 0") == 1)
                try database.execute("UPDATE push SET next_attempt_at = 0")
            case .secondSIGTERM, .secondSIGINT:
                let signal = end == .secondSIGINT ? SIGINT : SIGTERM
                server.signal(signal)
                #expect(await server.exitCode == -signal)
                #expect(try database.count("push WHERE finished_at IS NULL") == 1)
            }
            try await expectDelivery(in: world, on: kind, settings)
        }
    }

    @Test func `serve --drain stops the running server, and returns once its process has ended`() async throws {
        let folder = try TemporaryFolder()
        let server = try await ServerProcess.start(in: folder)
        let settings = ["identity.keyFile=\(folder.path("identity.key"))", "storage.path=\(folder.path("push.sqlite"))"]
        func drain(_ address: String) async throws -> ChildProcess.Ended {
            try await ChildProcess.run(
                "pushserver", ["serve", "--drain"] + (settings + ["admin.listen=\(address)"]).flatMap { ["--set", $0] })
        }
        #expect(try await drain("127.0.0.1:1").exitCode == 69)
        #expect(!server.log.all.contains { $0.contains("] draining") })
        let drained = try await drain(server.addresses.admin)
        #expect(drained.exitCode == 0, "\(drained.error)")
        #expect(await server.exitCode == 0)
        #expect(server.log.all.contains { $0.contains("] draining") })
        let again = try await drain(server.addresses.admin)
        #expect(again.exitCode == 69 && again.error.contains("no server responds"))
    }

    @Test func `a database that another process keeps locked does not delay the shutdown`() async throws {
        try await withPushUnderWay(on: .sqlite, gracePeriod: "1s") { world, settings in
            let (server, database) = (world.server, world.database)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            configuration.busyMode = .timeout(600)
            let other = try DatabaseQueue(path: database.location, configuration: configuration)
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            #expect(await server.terminate() == 0, "\(server.log.all)")
            try await other.writeWithoutTransaction { try $0.execute(sql: "ROLLBACK") }
            #expect(try database.count("push WHERE finished_at IS NULL") == 1)
            try await expectDelivery(in: world, on: .sqlite, settings)
        }
    }

    @Test(arguments: SilentNode.Silence.allCases)
    func `a node that never responds does not delay the shutdown`(silence: SilentNode.Silence) async throws {
        let folder = try TemporaryFolder()
        let identity = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        let alice = ProtocolClient(server: identity.publicKey)
        let node = try SilentNode(silence, message: alice.envelope(alice.registration()))
        let server = try ServerProcess.launch(
            in: folder,
            settings: [
                "transport.kind": "waku", "transport.waku.url": node.url, "transport.waku.history": "false", "shutdown.gracePeriod": "10s",
            ])
        #expect(await node.isSilent())
        #expect(await server.terminate() == 0, "\(server.log.all)")
        // The transport has only its part of the grace period. Services that stop later have the rest.
        let line = silence == .whenRead ? "transport did not stop in time" : "stopped with work in progress"
        #expect(server.log.all.contains { $0.contains(line) })
        #expect(try ServerDatabase(of: server).unfinishedCount() == (silence == .whenRead ? 0 : 1))
    }

    @Test(arguments: TestDatabase.allCases)
    func `replies that are held at a node without peers do not delay the shutdown, and leave after a restart`(
        database: TestDatabase
    ) async throws {
        let folder = try TemporaryFolder()
        let identity = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        let (alice, bob) = (
            ProtocolClient(server: identity.publicKey, clock: .system), ProtocolClient(server: identity.publicKey, clock: .system)
        )
        let bus = Bus()
        let replies = Listener()
        let network = bus.attach(listener: replies)
        let control = RelayControl()
        control.faults.reportsPeers = false
        let configuration = RelayServer.Configuration(pubsubTopics: [TestNode.topic])
        try await withRelay(configuration, on: bus, clock: .system, control: control) { node in
            let settings = try await database.settings(in: folder).merging(
                ["transport.kind": "waku", "transport.waku.url": node.url, "shutdown.gracePeriod": "20s"]
            ) { $1 }
            let first = try ServerProcess.launch(in: folder, settings: settings)
            #expect(await first.log.wait { $0.contains("No connected peers") })
            let messages = ServerDatabase(of: first)
            try await network.publish(alice.envelope(alice.registration()))
            try await messages.wait(for: "registration") { $0 == 1 }
            try await network.publish(bob.envelope(bob.request([bob.notification(to: alice)])))
            try await network.publish(bob.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
            try await messages.wait(for: "push") { $0 == 1 }
            try await messages.wait(for: "message") { $0 == 3 }
            #expect(await first.terminate() == 0)
            for line in ["the grace period is over", "did not stop in time", "stopped with work in progress", "took too long"] {
                #expect(!first.log.all.contains { $0.contains(line) }, "\(first.log.all)")
            }
            #expect(try messages.unfinishedCount() == 3)
            #expect(replies.received.compactMap { alice.open($0) ?? bob.open($0) }.isEmpty)

            control.faults.reportsPeers = true
            let second = try await ServerProcess.start(in: folder, on: database, settings: settings)
            try await messages.waitUntilFinished()
            let types = replies.received.compactMap { bob.open($0)?.type }
            #expect(Set(types) == [.pushNotificationResponse, .pushNotificationQueryResponse] && types.count == 2)
            #expect(await second.terminate() == 0)
            try await second.audit()
        }
    }

    /// Writes of log lines hang then, and so do the tasks that log.
    @Test func `a standard error without a reader does not delay the shutdown`() async throws {
        let folder = try TemporaryFolder()
        let pipe = folder.path("stderr")
        try #require(unsafe mkfifo(pipe, 0o600) == 0)
        // The descriptor stays open for reading, but the test does not read.
        let descriptor = unsafe open(pipe, O_RDWR | O_NONBLOCK | O_CLOEXEC)
        defer { close(descriptor) }
        let arguments = [
            "identity.keyFile=identity.key", "storage.path=push.sqlite", "transport.embedded.listen=127.0.0.1:0",
            "admin.listen=127.0.0.1:0", "shutdown.gracePeriod=1s",
        ].map { "--set \($0)" }.joined(separator: " ")
        let server = try ChildProcess(
            "/bin/sh",
            [
                "-c",
                "cd '\(folder.path("."))' && exec '\(ChildProcess.path(of: "pushserver"))' serve --ready-file ready \(arguments) 2>stderr",
            ])
        try await FolderWatch(folder.path(".")).wait { FileManager.default.fileExists(atPath: folder.path("ready")) }
        while unsafe write(descriptor, "x", 1) == 1 {}
        server.signal(SIGTERM)
        #expect(await server.exitCode == 0)
    }

    @Test func `a signal during the start takes effect`() async throws {
        let server = try ServerProcess.launch(in: TemporaryFolder())
        #expect(await server.log.wait { $0.contains("] starting") })
        #expect(await server.terminate() == 0)
        #expect(server.log.all.contains { $0.hasSuffix("] stopped") })
    }

    @Test func `SIGHUP logs that no setting is reloaded, and stops no service`() async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        server.signal(SIGHUP)
        #expect(await server.log.wait { $0.contains("ignoring SIGHUP") })
        #expect(try await AdminClient(server).get("/health/ready").status == 200)
        #expect(await server.terminate() == 0)
    }

    @Test(arguments: [(SIGUSR1, "SIGUSR1"), (SIGUSR2, "SIGUSR2")])
    func `SIGUSR1 and SIGUSR2 are logged, and stop no service`(signal: Int32, name: String) async throws {
        let server = try await ServerProcess.start(in: TemporaryFolder())
        server.signal(signal)
        #expect(await server.log.wait { $0.contains("signal ignored") && $0.contains(name) })
        #expect(try await AdminClient(server).get("/health/ready").status == 200)
        #expect(await server.terminate() == 0)
    }

    // MARK: A push in flight

    /// Runs a server whose gorush has received a push and does not respond.
    private func withPushUnderWay(
        on database: TestDatabase, gracePeriod: String, _ body: (ServerWorld, _ settings: [String: String]) async throws -> Void
    ) async throws {
        try await withStubGorush { gorush in
            gorush.breakDown(.hang)
            let folder = try TemporaryFolder()
            let settings = ["gorush.url": await gorush.url, "gorush.timeout": "600s", "shutdown.gracePeriod": gracePeriod]
            let server = try await ServerProcess.start(in: folder, on: database, settings: settings)
            let world = try ServerWorld(server, in: folder, gorush)
            #expect(try await world.register(world.alice, version: 1) == nil)
            #expect(try await world.request() == nil)
            await gorush.posts.wait(for: 1)
            // The server has published its reply. Only the push is in flight.
            try await world.database.waitUntilFinished()
            try await body(world, settings)
        }
    }

    /// Checks that the next server delivers the push of the first, and that the ledger balances.
    private func expectDelivery(in world: ServerWorld, on database: TestDatabase, _ settings: [String: String]) async throws {
        world.gorush.breakDown(nil)
        let server = try await ServerProcess.start(in: world.folder, on: database, settings: settings)
        await world.gorush.waitForNotifications(count: 1)
        try await world.database.wait(for: "push WHERE state = \(PushOutcome.sent.rawValue)") { $0 == 1 }
        #expect(await server.terminate() == 0)
        try await server.audit()
    }
}

/// A Waku node that responds to all but one kind of request.
final class SilentNode: Sendable {
    enum Silence: CaseIterable {
        case whenRead
        case whenPublishing
    }

    private let silenceCount: Condition<Int>
    private let server: RawServer

    /// - Parameter message: The message that the node delivers, if it delivers any.
    init(_ silence: Silence, message: WakuEnvelope) throws {
        let unread = Condition([MessageJSON.request(message.message)])
        let silenceCount = Condition(0)
        self.silenceCount = silenceCount
        server = try RawServer { connection in
            while let request = connection.readRequest() {
                let isRead = request.hasPrefix("GET /relay/v1/messages")
                if silence == .whenRead && isRead || silence == .whenPublishing && request.hasPrefix("POST /relay/v1/messages") {
                    silenceCount.change { $0 += 1 }
                    return connection.waitForEnd()
                }
                let messages = unread.change { unread in
                    defer { if isRead { unread = [] } }
                    return unread
                }
                connection.respond(body: isRead ? "[\(messages.joined(separator: ","))]" : "OK")
            }
        }
    }

    var url: String { server.url }

    /// Waits until the node has a request without response.
    func isSilent() async -> Bool { await silenceCount.wait { $0 > 0 } }
}
