import Envelope
import ServerFiles
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Transport

/// A server whose node has no peers for a while.
@Suite(.fewAtATime) struct PeerlessServerTests {
    @Test func `replies that waited for a node with peers are counted, and not timed`() async throws {
        let folder = try TemporaryFolder()
        let identity = try KeyFile(path: folder.path("identity.key")).loadOrCreate()
        let alice = ProtocolClient(server: identity.publicKey, clock: .system)
        let bus = Bus()
        let network = bus.attach(listener: Listener())
        let control = RelayControl()
        try await withRelay(
            RelayServer.Configuration(pubsubTopics: [TestNode.topic]), on: bus, clock: .system, control: control
        ) { node in
            let server = try await ServerProcess.start(
                in: folder, settings: ["transport.kind": "waku", "transport.waku.url": node.url])
            let admin = AdminClient(server)
            try await network.publish(alice.envelope(alice.registration()))
            try await admin.body(of: "/metrics") { $0.contains(#"pushserver_reply_seconds_count{kind="registration"} 1"#) }
            control.faults.reportsPeers = false
            #expect(await server.log.wait { $0.contains("No connected peers") })
            try await network.publish(alice.envelope(queryFor: [alice.keyHash], onTopicOf: alice.keyHash))
            // Its first attempt has failed, so the reply is held.
            try await admin.body(of: "/metrics") { $0.contains(#/\npushserver_replies_total\{kind="query",outcome="failed"\} [1-9]/#) }
            control.faults.reportsPeers = true
            try await admin.body(of: "/metrics") { $0.contains(#"pushserver_replies_total{kind="query",outcome="published"} 1"#) }
            let timed = try await admin.get("/metrics").body.contains(#"pushserver_reply_seconds_count{kind="query"} 1"#)
            #expect(!timed)
            #expect(await server.terminate() == 0)
        }
    }
}
