import Envelope
import Foundation
import PushClient
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// Pushes whose recipients cannot be looked up, or show their tokens only later.
@Suite(.safetyNet)
struct LookupTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private let bob = Identity(.test(8))
    private let carol = Identity(.test(9))
    private let device = Device(deviceToken: "token", service: .firebase)
    private let message = PushMessage(kind: .message, messageID: [1, 2, 3])
    private var server: FakeServer { network.servers[0] }

    /// An error as an app's own node throws it.
    private struct NoPeers: LocalizedError {
        var errorDescription: String? { "The app's node has no peers." }
    }

    private func registering(_ identity: Identity, advertises: Bool = true) async throws -> RegisteringClient {
        try await RegisteringClient(
            identity: identity, node: network.node, state: MemoryState(),
            advertisingInterval: advertises ? RegisteringClient.defaultAdvertisingInterval : nil)
    }

    private func contactCode(_ identity: Identity) -> String { TopicName.contactCode(identity.publicKey.publicKey).topic.contentTopic }
    private var queryCount: Int { server.requests.count { $0.type == .pushNotificationQuery } }

    // MARK: Failed lookups

    @Test func `a failed lookup of one recipient keeps no other from being notified`() async throws {
        _ = try await registering(alice).register(device, with: [server.identity])
        let topic = contactCode(carol)
        let sender = SendingClient(
            node: network.node { function, topics in function == .subscribe && topics == [topic] ? .fails(NoPeers()) : nil },
            state: MemoryState())
        let reports = try await sender.push(message, to: [Recipient(carol.publicKey), Recipient(alice.publicKey)])
        let failure = PushClientError.nodeUnreachable(reason: "The app's node has no peers")
        #expect(Set(reports.map(\.owner)) == [alice.publicKey, carol.publicKey])
        #expect(reports.first { $0.owner == alice.publicKey }?.outcome == .accepted(by: server.identity))
        #expect(reports.first { $0.owner == carol.publicKey }?.outcome == .lookupFailed(failure))
        #expect(failure.localizedDescription == "The node cannot be reached: The app's node has no peers.")
    }

    @Test func `a recipient whose lookup fails is notified at the devices that were known before`() async throws {
        _ = try await registering(alice).register(device, with: [server.identity])
        let state = MemoryState()
        _ = try await SendingClient(node: network.node, state: state).devices(of: alice.publicKey)
        network.time.advance(by: KnownDevices.maximumAge)
        let topic = contactCode(alice)
        let node = network.node { function, topics in function == .subscribe && topics == [topic] ? .fails(NoPeers()) : nil }
        let reports = try await SendingClient(node: node, state: state).push(message, to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == [.accepted(by: server.identity)])
    }

    @Test func `a node without a history registers, looks up and notifies`() async throws {
        let node = network.node { function, _ in function == .history ? .fails(NoPeers()) : nil }
        let registering = try await RegisteringClient(identity: alice, node: node, state: MemoryState())
        #expect(try await registering.register(device, with: [server.identity]).map(\.phase) == [.registered])
        let sender = SendingClient(node: node, state: MemoryState())
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.accepted(by: server.identity)])
    }

    @Test func `followed contacts are learned from new advertisements although the history fails`() async throws {
        let node = network.node { function, _ in function == .history ? .fails(NoPeers()) : nil }
        let sender = SendingClient(node: node, state: MemoryState())
        var events = sender.events().makeAsyncIterator()
        network.time.hold()
        let following = Task { await sender.follow([alice.publicKey]) }
        defer { following.cancel() }
        #expect(await events.next()?.kind == .failing)
        let registering = try await registering(alice)
        let event = try await network.time.pass {
            _ = try await registering.register(device, with: [server.identity])
            return await events.next()
        }
        #expect(event?.kind == .learned && event?.owner == alice.publicKey)
    }

    @Test func `a push fails if nobody can be looked up, or no request can be sent`() async throws {
        _ = try await registering(alice).register(device, with: [server.identity])
        let failure = PushClientError.nodeUnreachable(reason: "The app's node has no peers")
        for function in [StubbornTransport.Function.subscribe, .publish] {
            let sender = SendingClient(
                node: network.node { called, _ in called == function ? .fails(NoPeers()) : nil }, state: MemoryState())
            await #expect(throws: failure) { try await sender.push(message, to: [Recipient(alice.publicKey)]) }
        }
    }

    @Test func `a message without an id is refused before anything is sent`() async throws {
        let sender = SendingClient(node: network.node, state: MemoryState())
        let empty = PushMessage(kind: .message, messageID: [])
        let error = await #expect(throws: PushClientError.self) { try await sender.push(empty, to: [Recipient(alice.publicKey)]) }
        #expect(error?.code == .invalidPush)
        let same = try #require(error)
        await #expect(throws: same) { try await PushServer(server.identity, node: network.node).push(empty, to: []) }
        #expect(network.envelopes.isEmpty)
    }

    // MARK: Known devices

    @Test func `a known friend is notified before anybody else is looked up`() async throws {
        _ = try await registering(alice).register(device, with: [server.identity])
        let sender = SendingClient(node: network.node, state: MemoryState())
        _ = try await sender.devices(of: alice.publicKey)
        let strangers = (20..<70).map { Recipient(PushClient.PublicKey(PrivateKey.test($0).publicKey)) }
        network.time.hold()
        let pushing = Task { try await sender.push(message, to: strangers + [Recipient(alice.publicKey)]) }
        // No time has passed, and a lookup takes seconds.
        await server.waitForPushes(count: 1)
        let reports = try await network.time.pass { try await pushing.value }
        #expect(reports.count == 51 && reports.count { $0.outcome == .unknown } == 50)
        #expect(reports.first { $0.owner == alice.publicKey }?.outcome == .accepted(by: server.identity))
    }

    @Test func `a failure to notify known friends keeps no stranger from being notified`() async throws {
        let network = FakeNetwork()
        let (first, second) = (network.servers[0], network.servers[1])
        for (identity, server) in [(alice, first), (carol, second)] {
            let client = try await RegisteringClient(identity: identity, node: network.node, state: MemoryState())
            _ = try await client.register(device, with: [server.identity])
        }
        let (state, other) = (MemoryState(), MemoryState())
        for state in [state, other] { _ = try await SendingClient(node: network.node, state: state).devices(of: alice.publicKey) }
        let topic = TopicName.partitioned(first.identity.publicKey).topic.contentTopic
        let node = network.node { function, topics in function == .publish && topics == [topic] ? .fails(NoPeers()) : nil }
        let recipients = [Recipient(alice.publicKey), Recipient(carol.publicKey)]
        let reports = try await SendingClient(node: node, state: state).push(message, to: recipients)
        let failure = PushClientError.nodeUnreachable(reason: "The app's node has no peers")
        #expect(reports.map(\.outcome) == [.notSent(failure), .accepted(by: second.identity)])

        let keeping = SendingClient(node: node, state: other, keepsUnsentPushes: true)
        let another = PushMessage(kind: .message, messageID: [4])
        #expect(try await keeping.push(another, to: recipients).map(\.outcome) == [.kept, .accepted(by: second.identity)])
    }

    @Test func `a report from an earlier lookup says when the next one is`() async throws {
        let sender = SendingClient(node: network.node, state: MemoryState())
        let first = try #require(try await sender.push(message, to: [Recipient(alice.publicKey)]).first)
        #expect(first.outcome == .unknown && first.nextLookup == nil)
        network.time.advance(by: .seconds(20))
        let second = try #require(try await sender.push(message, to: [Recipient(alice.publicKey)]).first)
        #expect(second.outcome == .unknown && second.nextLookup == .seconds(40))
        #expect("\(second)".hasSuffix("; found earlier, and looked up again in 40 s"))
    }

    // MARK: Long messages

    @Test(arguments: [0, 1]) func `the report of a push that does not arrive whole says so`(excess: Int) async throws {
        _ = try await registering(alice).register(device, with: [server.identity])
        let sender = SendingClient(node: network.node, state: MemoryState())
        var message = message
        message.ciphertext = Array(repeating: 7, count: PushMessage.maximumWholeByteCount + excess)
        let report = try #require(try await sender.push(message, to: [Recipient(alice.publicKey)]).first)
        #expect(report.outcome.isAccepted && report.isWakeUpOnly == (excess > 0))
        #expect("\(report)".contains("only a wake-up arrives") == (excess > 0))
    }

    @Test func `a push that must arrive whole and is too long is an error before anything is sent`() async throws {
        let sender = SendingClient(node: network.node, state: MemoryState())
        var message = message
        message.ciphertext = Array(repeating: 7, count: PushMessage.maximumWholeByteCount + 1)
        message.mustArriveWhole = true
        let expected = "A push with 1801 bytes of ciphertext does not arrive whole; the most is 1800."
        for call: () async throws -> Void in [
            { [message] in _ = try await sender.push(message, to: [Recipient(alice.publicKey)]) },
            { [message] in _ = try await PushServer(server.identity, node: network.node).push(message, to: []) },
        ] {
            let error = await #expect(throws: PushClientError.self) { try await call() }
            #expect(error?.code == .invalidPush && error?.description == expected)
        }
        #expect(network.envelopes.isEmpty)
    }

    // MARK: Incomplete lookups

    @Test func `a contact who was just added can notify after a minute`() async throws {
        let registering = try await registering(alice)
        var device = device
        device.audience = .contacts([carol.publicKey])
        _ = try await registering.register(device, with: [server.identity])
        let sender = SendingClient(identity: bob, node: network.node, state: MemoryState())
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])

        device.audience = .contacts([bob.publicKey, carol.publicKey])
        _ = try await registering.register(device, with: [server.identity])
        network.time.advance(by: .seconds(60))
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.accepted(by: server.identity)])
        // The lookup is complete now.
        let count = queryCount
        network.time.advance(by: .seconds(60 * 60))
        _ = try await sender.push(message, to: [Recipient(alice.publicKey)])
        #expect(queryCount == count)
    }

    @Test(arguments: [true, false])
    func `someone who shows no token is looked up again after 1, 5 and 30 minutes, then daily`(isRegistered: Bool) async throws {
        var device = device
        device.audience = .contacts([carol.publicKey])
        if isRegistered { _ = try await registering(alice).register(device, with: [server.identity]) }
        let sender = SendingClient(identity: bob, node: network.node, state: MemoryState())
        var lookups = 0
        func push() async throws -> Int {
            let count = network.envelopes.count
            #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
            if network.envelopes.count > count { lookups += 1 }
            return lookups
        }
        #expect(try await push() == 1)
        var expected = 1
        for seconds in [60, 5 * 60, 30 * 60, 24 * 60 * 60, 24 * 60 * 60] {
            // A lookup of somebody whom no server knows takes 6 s itself.
            network.time.advance(by: .seconds(seconds - 10))
            #expect(try await push() == expected)
            network.time.advance(by: .seconds(10))
            expected += 1
            #expect(try await push() == expected)
        }
    }
}
