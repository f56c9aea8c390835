import Bytes
import Envelope
import PushClient
import PushClientTesting
import StatusCrypto
import Synchronization
import TestSupport
import Testing
import Wire

/// The advertisements of an owner's devices, and their use by other clients.
@Suite(.safetyNet)
struct AdvertisingTests {
    private let network = FakeNetwork()
    private let alice = Identity(.test(7))
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }
    private var both: [PushClient.PublicKey] { network.servers.map(\.identity) }
    private let device = Device(deviceToken: "token", service: .firebase)
    private let message = PushMessage(kind: .message, messageID: [1, 2, 3])

    private func registering(_ installationID: String = "phone", advertises: Bool = true) async throws -> RegisteringClient {
        try await RegisteringClient(
            identity: alice, anyInstallationID: installationID, node: network.node, state: MemoryState(),
            advertisingInterval: advertises ? RegisteringClient.defaultAdvertisingInterval : nil)
    }

    private func sending() throws -> SendingClient {
        SendingClient(node: network.node, state: MemoryState())
    }

    private var advertisements: [WakuEnvelope] {
        let topic = TopicName.contactCode(alice.publicKey.publicKey).topic.contentTopic
        return network.envelopes.filter { $0.message.contentTopic == topic }
    }

    /// Publishes Alice's advertisement again, as another client.
    private func `repeat`(_ advertisement: WakuEnvelope) async throws {
        network.time.advance(by: .seconds(1))
        var again = advertisement
        again.message.timestamp = network.time.wallClock.now().nanoseconds
        try await network.publish(again)
    }

    private func servers(_ client: SendingClient) async throws -> Set<PushClient.PublicKey> {
        try await Set(client.devices(of: alice.publicKey, refreshes: true).map(\.server))
    }

    @Test(arguments: [0, 1])
    func `a client stops using a server that is no longer advertised, whichever server had the higher version`(kept: Int) async throws {
        let client = try await registering()
        _ = try await client.register(device, with: both)
        network.time.advance(by: .seconds(1))
        try await client.unregister(from: both[1 - kept])
        #expect(try await servers(sending()) == [both[kept]])
    }

    @Test func `a repeated old advertisement is ignored`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: [first.identity])
        let old = try #require(advertisements.last)
        network.time.advance(by: .seconds(1))
        var changed = device
        changed.deviceToken = "another"
        _ = try await client.register(changed, with: both)
        try await `repeat`(old)
        #expect(try await servers(sending()) == Set(both))
    }

    @Test func `a device that unregisters everywhere advertises it once, and senders stop querying its servers`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: both)
        let old = try #require(advertisements.last)
        let sender = try sending()
        #expect(try await sender.devices(of: alice.publicKey).count == 2)

        network.time.advance(by: .seconds(1))
        try await client.unregister()
        #expect(advertisements.count == 2)
        try await client.advertise()
        #expect(advertisements.count == 2)
        try await `repeat`(old)

        let count = network.envelopes.count
        #expect(try await sender.devices(of: alice.publicKey, refreshes: true).isEmpty)
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
        #expect(network.envelopes.count == count)

        network.time.advance(by: .seconds(1))
        _ = try await client.register(device, with: [first.identity])
        #expect(try await servers(sender) == [first.identity])
    }

    @Test func `the unregistration of one device leaves the other registered`() async throws {
        let phone = try await registering("phone")
        _ = try await phone.register(device, with: both)
        _ = try await registering("tablet").register(device, with: both)
        network.time.advance(by: .seconds(1))
        try await phone.unregister()
        #expect(try await sending().devices(of: alice.publicKey).map(\.installationID) == ["tablet", "tablet"])
    }

    @Test func `an unregistration is advertised later if the node was down`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: [first.identity])
        network.setDown(true)
        try await client.unregister()
        #expect(advertisements.count == 1)
        network.setDown(false)
        try await client.advertise()
        #expect(advertisements.count == 2)
    }

    @Test func `an unregistration is not advertised if the registration never was`() async throws {
        let client = try await registering()
        first.fault = .isSilent
        _ = try await client.register(device, with: [first.identity])
        try await client.unregister()
        #expect(advertisements.isEmpty)
    }

    @Test func `followers learn of a new server and of the withdrawal live, and query the tokens of contacts`() async throws {
        let bob = Identity(.test(8))
        let client = try await registering()
        let sender = SendingClient(identity: bob, node: network.node, state: MemoryState())
        let events = sender.events()
        network.time.hold()
        let following = Task { await sender.follow([alice.publicKey, bob.publicKey]) }
        defer { following.cancel() }
        func wait(for isExpected: ([DeviceInfo]) -> Bool) async {
            await network.time.pass {
                for await event in events {
                    if event.kind == .learned, event.owner == alice.publicKey, isExpected(event.devices) { return }
                }
            }
        }

        _ = try await client.register(device, with: [first.identity])
        await wait { $0.map(\.server) == [first.identity] && $0.allSatisfy { $0.accessToken != nil } }
        var forContacts = device
        forContacts.audience = .contacts([bob.publicKey])
        _ = try await client.register(forContacts, with: both)
        await wait { Set($0.map(\.server)) == Set(both) && $0.allSatisfy { $0.accessToken != nil } }
        try await client.unregister()
        await wait(for: \.isEmpty)
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
    }

    @Test func `a follower reports an unreachable node once, and continues when the node is back`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: [first.identity])
        network.setDown(true)
        let sender = try sending()
        var events = sender.events().makeAsyncIterator()
        network.time.hold()
        let following = Task { await sender.follow([alice.publicKey]) }
        defer { following.cancel() }
        #expect(await events.next()?.error == .nodeUnreachable(reason: "down"))
        // The client polls often meanwhile.
        for _ in 0..<20 {
            await network.time.sleeper(dueIn: SendingClient.followingRetryDelay)
            network.time.advance(by: SendingClient.followingRetryDelay)
        }
        await network.time.sleeper(dueIn: SendingClient.followingRetryDelay)
        network.setDown(false)
        #expect(await network.time.pass(while: { await events.next() })?.kind == .learned)
    }

    @Test func `devices are notified by their last advertisement, then by the newest registration`() async throws {
        let phone = try await registering("phone")
        for (name, advertises) in [("silent", false), ("newer silent", false), ("desktop", true)] {
            _ = try await registering(name, advertises: advertises).register(device, with: [first.identity])
            network.time.advance(by: .seconds(60))
            if name == "silent" { _ = try await phone.register(device, with: [first.identity]) }
            network.time.advance(by: .seconds(60))
        }
        // Half a day later, the registrations are not new. The desktop was switched off.
        network.time.advance(by: .seconds(12 * 60 * 60))
        _ = try await phone.register(device, with: [first.identity])
        let client = try sending()
        #expect(try await client.devices(of: alice.publicKey).map(\.installationID) == ["phone", "desktop"])
        // The client looks a named installation up, and keeps the order.
        network.time.advance(by: .seconds(10 * 60))
        let wanted = Recipient(alice.publicKey, installationIDs: ["newer silent", "silent"])
        #expect(try await client.push(message, to: [wanted]).map(\.installationID) == ["newer silent", "silent"])
    }

    @Test func `two contacts that share a state file do not share the tokens that were encrypted for one of them`() async throws {
        let (bob, carol) = (Identity(.test(8)), Identity(.test(9)))
        var device = device
        device.audience = .contacts([bob.publicKey])
        _ = try await registering().register(device, with: [first.identity])
        let state = MemoryState()
        func push(_ identity: Identity?) async throws -> [DeliveryReport.Outcome] {
            try await SendingClient(identity: identity, node: network.node, state: state)
                .push(message, to: [Recipient(alice.publicKey)]).map(\.outcome)
        }
        #expect(try await push(bob) == [.accepted(by: first.identity)])
        #expect(try await push(carol) == [.unknown])
        #expect(try await push(nil) == [.unknown])
    }
}

/// The topics of subscriptions.
@Suite(.safetyNet)
struct SubscriptionTests {
    private let network = FakeNetwork(serverCount: 1)
    private let topics = [TopicName("one"), TopicName("other")]

    private func publish(_ text: String, on topic: TopicName) async throws {
        var random = SecureRandom()
        let signer = PrivateKey.test(7)
        let data = ApplicationMetadata.seal(Array(text.utf8), type: .contactCodeAdvertisement, signer: signer)
        let payload = try RFC26.sealSymmetric(data, key: topic.deriveSymmetricKey(), signer: signer, using: &random)
        try await network.node.exchange.publish([payload], on: topic)
    }

    private func texts(_ subscription: inout Subscription) async throws -> [String] {
        try await subscription.next(from: network.node).map { String(decoding: $0.message.payload, as: UTF8.self) }
    }

    @Test func `a subscription returns what the store has, then what is new, each message once`() async throws {
        for (index, topic) in topics.enumerated() {
            try await publish("old \(index)", on: topic)
            network.time.advance(by: .seconds(100))
        }
        try await publish("not listened to", on: TopicName("third"))
        var subscription = Subscription(to: topics, since: TestClock.start)
        #expect(try await texts(&subscription) == ["old 0", "old 1"])
        #expect(try await texts(&subscription).isEmpty)
        try await publish("new", on: topics[0])
        await subscription.wait()
        #expect(try await texts(&subscription) == ["new"])
        #expect(try await texts(&subscription).isEmpty)
    }

    @Test func `a subscription that failed returns what it has missed`() async throws {
        var subscription = Subscription(to: topics, since: TestClock.start)
        #expect(try await texts(&subscription).isEmpty)
        try await publish("before", on: topics[0])
        #expect(try await texts(&subscription) == ["before"])
        network.setDown(true)
        await network.time.deliveries.settle()
        await subscription.wait()
        await #expect(throws: PushClientError.nodeUnreachable(reason: "down")) { try await texts(&subscription) }
        network.setDown(false)
        try await publish("meanwhile", on: topics[1])
        #expect(try await texts(&subscription) == ["meanwhile"])
    }
}
