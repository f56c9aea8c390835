import Envelope
import PushClient
import PushClientREST
import PushClientTesting
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

/// Devices whose clock is wrong, at a node whose clock is right.
@Suite(.safetyNet)
struct ClockTests {
    private let device = Device(deviceToken: "token", service: .firebase)

    /// A node as a device sees it whose clock is ahead.
    private func node(_ url: String, aheadBy lead: Duration) -> Node {
        let wallClock = WallClock { WallClock.system.now().advanced(by: lead) }
        return Node(
            transport: RESTTransport(url: url, wallClock: wallClock), pubsubTopic: FakeServer.pubsubTopic, clock: ContinuousClock(),
            wallClock: wallClock)
    }

    @Test(arguments: [-3_600, -50, 0, 50, 3_600]) func `a device gets its replies from a store, whatever its clock says`(
        ahead: Int
    ) async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, server in
            let node = node(url, aheadBy: .seconds(ahead))
            let client = try await RegisteringClient(
                identity: Identity(.test(7)), node: node, state: MemoryState(), timeout: .seconds(600))
            #expect(try await client.register(device, with: [server.identity]).map(\.phase) == [.registered])
        }
    }

    @Test(arguments: [-3_600, 0, 3_600]) func `a device gets its replies although the node does not say its time`(ahead: Int) async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, server in
            // By such a clock each response takes too long to tell the time.
            let readingCount = Atomic(0)
            let wallClock = WallClock {
                let count = readingCount.add(1, ordering: .relaxed).newValue
                return WallClock.system.now().advanced(by: .seconds(ahead + count * 8))
            }
            let transport = RESTTransport(url: url, wallClock: wallClock)
            let node = Node(
                transport: transport, pubsubTopic: FakeServer.pubsubTopic, clock: ContinuousClock(),
                wallClock: WallClock { WallClock.system.now().advanced(by: .seconds(ahead)) })
            // On a shard somebody has always just said something.
            var message = WakuMessage()
            (message.contentTopic, message.version) = ("/waku/1/0x01020304/rfc26", 1)
            (message.payload, message.timestamp) = ([1], WallClock.system.now().nanoseconds)
            try await transport.publish(NodeMessage(WakuEnvelope(pubsubTopic: FakeServer.pubsubTopic, message: message)))
            let client = try await RegisteringClient(
                identity: Identity(.test(7)), node: node, state: MemoryState(), timeout: .seconds(600))
            #expect(try await client.register(device, with: [server.identity]).map(\.phase) == [.registered])
            #expect(transport.clockLead == nil)
        }
    }

    @Test(arguments: [(-50, "behind"), (0, nil), (50, "ahead of")] as [(Int, String?)])
    func `a missing reply names a clock that is off by more than 20 seconds`(ahead: Int, side: String?) async throws {
        try await withNode(subscribedTo: [FakeServer.pubsubTopic]) { url, server in
            server.isSilent = true
            let client = PushServer(server.identity, node: node(url, aheadBy: .seconds(ahead)), timeout: .milliseconds(1))
            let error = await #expect(throws: PushClientError.self) {
                try await client.register(device, installationID: "phone", as: Identity(.test(7)))
            }
            #expect(error?.code == .noReply && (error?.clockLead == nil) == (side == nil))
            #expect(error?.description.contains("clock") == (side != nil))
            if let side { #expect(error?.description.hasSuffix(" s \(side) the node's: set it.") == true) }
        }
    }
}
