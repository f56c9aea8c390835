import Envelope
import Foundation
import PushClientTesting
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// Pushes that are asked for while the node is down.
@Suite(.safetyNet)
struct UnsentPushTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private let carol = Identity(.test(9))
    private let state = MemoryState()
    private var server: FakeServer { network.servers[0] }

    private func client(keeps: Bool = true, on node: Node? = nil) -> SendingClient {
        SendingClient(node: node ?? network.node, state: state, keepsUnsentPushes: keeps)
    }

    private func register(_ identity: Identity) async throws {
        let client = try await RegisteringClient(identity: identity, node: network.node, state: MemoryState())
        _ = try await client.register(Device(firebaseToken: "token"), with: [server.identity])
    }

    private func message(_ number: Int = 1) -> PushMessage {
        PushMessage(kind: .message, messageID: (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
    }

    /// Runs a client during an operation.
    private func run(_ client: SendingClient, while operation: () async throws -> Void) async rethrows {
        network.clock.hold()
        let running = Task { await client.run() }
        try await network.clock.pass(while: operation)
        running.cancel()
        await running.value
    }

    @Test func `a push asked for offline is sent when the node is back, by another process too`() async throws {
        try await register(alice)
        network.setDown(true)
        let reports = try await client().push(message(), to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == [.kept] && server.pushes.isEmpty)
        network.setDown(false)
        let later = client()
        let events = later.events()
        await run(later) {
            let sent = await events.first { $0.kind == .sent }
            #expect(sent?.reports.map(\.outcome) == [.accepted(by: server.identity)])
        }
        #expect(server.pushes.count == 1)
    }

    @Test func `a client that keeps nothing throws, as by default`() async throws {
        network.setDown(true)
        await #expect(throws: PushClientError.self) { try await client(keeps: false).push(message(), to: [Recipient(alice.publicKey)]) }
        await #expect(throws: PushClientError.self) {
            try await SendingClient(node: network.node, state: state).push(message(), to: [Recipient(alice.publicKey)])
        }
    }

    @Test func `attempts follow after 4, 16, 48 and 128 seconds, and end after a day`() async throws {
        network.setDown(true)
        let client = client()
        _ = try await client.push(message(), to: [Recipient(alice.publicKey)])
        network.clock.hold()
        let running = Task { await client.run() }
        for seconds in [4, 16, 48, 128, 320, 768] {
            await network.clock.sleeper(dueIn: .seconds(seconds))
            network.clock.advance(by: .seconds(seconds))
        }
        await network.clock.sleeper(dueIn: .seconds(1_792))
        network.clock.advance(by: .seconds(24 * 60 * 60))
        // Nothing is left to send: the client sleeps as long as it ever does.
        await network.clock.sleeper(dueIn: .seconds(60 * 60))
        running.cancel()
        await running.value
    }

    @Test func `only recipients who were not notified get the push later`() async throws {
        try await register(alice)
        try await register(carol)
        let topic = TopicName.contactCode(carol.publicKey.publicKey).topic.contentTopic
        let down = network.node { function, topics in
            function == .subscribe && topics == [topic] ? .fails(PushClientError.nodeUnreachable(reason: "down")) : nil
        }
        let reports = try await client(on: down).push(message(), to: [Recipient(alice.publicKey), Recipient(carol.publicKey)])
        #expect(reports.first { $0.owner == carol.publicKey }?.outcome == .kept && server.pushes.count == 1)
        await run(client()) { await server.waitForPushes(count: 2) }
        #expect(server.pushes.map(\.target.keyHash) == [alice, carol].map(\.publicKey.publicKey.hash))
    }

    @Test func `the newest 100 pushes are kept`() async throws {
        try await register(alice)
        let client = client()
        _ = try await client.devices(of: alice.publicKey)
        network.setDown(true)
        for number in 0...100 { _ = try await client.push(message(number), to: [Recipient(alice.publicKey)]) }
        network.setDown(false)
        await run(client) { await server.waitForPushes(count: 100) }
        let messageIDs = try server.requests.filter { $0.type == .pushNotificationRequest }
            .map { try PushNotificationRequest.decode($0.payload).messageID }
        #expect(!messageIDs.contains(message(0).messageID) && messageIDs.contains(message(100).messageID))
    }

    @Test(arguments: [-2, -20])
    func `a clock that is set back neither loses nor delays a push`(hours: Int) {
        var pushes = UnsentPushes()
        let now = TestClock.start
        pushes.add(message(), to: [Recipient(alice.publicKey)], maximumDeviceCount: 3, at: now)
        #expect(pushes.due(at: now.advanced(by: .seconds(3))).isEmpty)
        #expect(pushes.due(at: now.advanced(by: .seconds(60 * 60 * hours))).map(\.message) == [message()])
        #expect(pushes.due(at: now.advanced(by: .seconds(-25 * 60 * 60))).isEmpty && pushes.nextAttempt == nil)
    }
}
