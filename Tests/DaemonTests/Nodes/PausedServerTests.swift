import Envelope
import Foundation
import TestServers
import TestSupport
import Testing
import Transport

/// A server that is stopped by SIGSTOP for two minutes, as when its virtual machine is moved.
@Suite(.fewAtATime, .safetyNet) struct PausedServerTests {
    private static let pauseSeconds = 120

    /// A cache of 10 messages is smaller than that of any node, so that what is missing would be another reader's.
    @Test(arguments: [10, 50])
    func `a server that was stopped fills what it missed from the history, and accuses nobody`(cacheCapacity: Int) async throws {
        let bus = Bus()
        let node = RelayServer.Configuration(pubsubTopics: [TestNode.topic], cacheCapacity: cacheCapacity)
        try await withRelay(node, on: bus, clock: .system) { node in
            let folder = try TemporaryFolder()
            let clock = try await PreloadedClock(in: folder)
            let server = try await ServerProcess.start(
                in: folder, settings: ["transport.kind": "waku", "transport.waku.url": node.url], environment: clock.environment)
            let network = bus.attach(listener: Listener())
            let alice = ProtocolClient(server: try serverKey(of: server), clock: .system)
            let database = ServerDatabase(of: server)
            var version: UInt64 = 0
            func publish() async throws {
                version += 1
                try await network.publish(alice.envelope(alice.registration(version: version)))
            }
            func publishOne() async throws {
                try await publish()
                try await database.wait(for: "message") { [version] in $0 == version }
            }
            #expect(await server.log.wait { $0.contains("] backfill completed ") })
            try await publishOne()

            await server.stop()
            for _ in 0..<cacheCapacity + 30 { try await publish() }
            let duringPause = WallClock.system.now().advanced(by: .seconds(Self.pauseSeconds / 2)).nanoseconds
            try clock.pass(seconds: Self.pauseSeconds)
            server.signal(SIGCONT)
            try await database.wait(for: "message") { [version] in $0 == version }
            // The comparison with the node's store is complete, and the polls have heard of it before the second message.
            try await database.wait(for: "checkpoint WHERE received_until > \(duringPause)") { $0 == 1 }
            for _ in 1...2 {
                // The server's own replies may fill the cache.
                try await database.waitUntilFinished()
                try await publishOne()
            }
            let health = try await AdminClient(server).get("/health/ready")
            #expect(health.status == 200)
            for line in server.log.all + [health.body] {
                #expect(!line.contains("cache dropped") && !line.contains("another program"))
            }
            #expect(await server.terminate() == 0)
            try await server.audit()
        }
    }
}
