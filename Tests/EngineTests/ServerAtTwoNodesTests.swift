import Engine
import Envelope
import HTTPClient
import MessageBus
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// A server at two nodes of one network, of which each may be away.
@Suite(.safetyNet) struct ServerAtTwoNodesTests {
    /// Registrations and push requests are answered once each, as long as nothing is echoed.
    @Test func `one node is killed and restarted under load, then the other: nothing is lost, nothing answered twice, and it says which`()
        async throws
    {
        let world = try World()
        try await world.whileServing { server in
            let senders = (0..<32).map { _ in ProtocolClient(server: world.harness.server, clock: world.wallClock) }
            @Sendable func write(_ senders: ArraySlice<ProtocolClient>) async throws {
                for sender in senders {
                    try await world.peer.publish(sender.envelope(sender.registration()))
                    try await world.peer.publish(sender.envelope(sender.request([sender.notification(to: world.alice)])))
                }
            }
            for (node, start) in zip(world.nodes, [0, 16]) {
                try await write(senders[start..<start + 4])
                async let load: Void = write(senders[start + 4..<start + 8])
                await node.kill()
                try await load
                try await write(senders[start + 8..<start + 12])
                try await world.pass { world.answered(senders) == start + 12 && server.warnings.count == 1 }
                #expect(server.warnings.first?.hasPrefix("node \(node.name): ") == true)
                #expect(server.troubles == [])
                await node.start()
                try await write(senders[start + 12..<start + 16])
                try await world.pass { world.answered(senders) == start + 16 && server.warnings.isEmpty }
            }
            for sender in senders {
                let types = world.answers(to: sender).map(\.type.rawValue).sorted()
                #expect(
                    types == [MessageType.pushNotificationRegistrationResponse, .pushNotificationResponse].map(\.rawValue).sorted())
            }
            await world.harness.whileTimePasses { await server.engine.waitUntilIdle() }
            let facts = try await server.store.auditFacts()
            #expect(Audit(facts).balances)
            #expect(try await server.store.registrationCount() == senders.count + 1)
        }
    }
}

/// As the daemon has the store keep them.
private struct Checkpoints: CheckpointKeeper {
    let store: any PushStore

    func checkpoint(of pubsubTopic: String) async throws -> Timestamp? { try await store.checkpoint(of: pubsubTopic) }

    func saveCheckpoint(_ checkpoint: Timestamp, of pubsubTopic: String) async throws {
        try await store.saveCheckpoint(checkpoint, of: pubsubTopic)
    }
}

/// Two nodes, a server at both, and the others of the network, with all time in one hand.
private struct World: Sendable {
    struct Server: Sendable {
        let engine: Engine
        let store: any PushStore
        let transport: WakuTransport

        var warnings: [String] { transport.warnings + engine.warnings }
        var troubles: [String] { transport.troubles + engine.troubles }
    }

    let harness: Harness
    let alice: ProtocolClient
    let nodes: [RestartableNode]
    let peer: BusMembership
    private let others = Listener()

    init() throws {
        harness = try Harness()
        let bus = Bus()
        let clock = harness.wallClock
        nodes = try (1...2).map { _ in try RestartableNode(on: bus, clock: clock) }
        peer = bus.attach(listener: others)
        alice = ProtocolClient(server: harness.server)
    }

    var wallClock: WallClock { harness.wallClock }

    func whileServing(_ body: @escaping @Sendable (Server) async throws -> Void) async throws {
        try await harness.register([alice])
        for node in nodes { await node.start() }
        let client = HTTPClient()
        let waku = nodes.map { WakuNode(url: $0.url, client: client, commandTimeout: TestNode.patience, readTimeout: TestNode.patience) }
        let configuration = Engine.Configuration(
            identity: harness.identity, registrationPolicy: RegistrationPolicy(), isDryRun: false, workerCount: 2, echoesReplies: false)
        try await harness.withServer(
            configuration,
            transport: { store in
                WakuTransport(
                    nodes: waku, configuration: .init(pubsubTopics: [TestNode.topic], pollInterval: .milliseconds(500)),
                    checkpoints: Checkpoints(store: store), clock: harness.clock, wallClock: wallClock, jitter: { 1 }, logger: quietLogger)
            }
        ) { engine, store, transport in
            let server = Server(engine: engine, store: store, transport: transport)
            try await pass { server.troubles.isEmpty && server.warnings.isEmpty }
            try await body(server)
        }
        for node in nodes { await node.kill() }
    }

    /// Lets time pass until it is so.
    func pass(until isSo: () -> Bool) async throws {
        while !isSo() {
            try Task.checkCancellation()
            await harness.passTime()
        }
    }

    /// How many of them have an answer to each of their two messages.
    func answered(_ clients: [ProtocolClient]) -> Int { clients.count { answers(to: $0).count >= 2 } }

    /// What was said to it; the network carries the same envelope twice at times.
    func answers(to client: ProtocolClient) -> [OpenedMessage] {
        var known: Set<Digest32> = []
        return others.heard.filter { known.insert($0.hash).inserted }.compactMap { client.open($0) }
    }
}
