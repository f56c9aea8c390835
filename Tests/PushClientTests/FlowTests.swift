import Bytes
import Envelope
import PushClient
import PushClientTesting
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The flows between two users and two servers on one network.
@Suite(.safetyNet)
struct FlowTests {
    private let network = FakeNetwork()
    private let alice = Identity(.test(7))
    private let bob = Identity(.test(8))
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }
    private var both: [PushClient.PublicKey] { network.servers.map(\.identity) }
    private let device = Device(deviceToken: "token", service: .firebase)
    private let message = PushMessage(kind: .message, messageID: [1, 2, 3])

    private func registering(_ identity: Identity? = nil, _ installationID: String = "phone", advertises: Bool = true) async throws
        -> RegisteringClient
    {
        try await RegisteringClient(
            identity: identity ?? alice, anyInstallationID: installationID, node: network.node, state: MemoryState(),
            advertisingInterval: advertises ? RegisteringClient.defaultAdvertisingInterval : nil)
    }

    private func sending(_ identity: Identity? = nil) throws -> SendingClient {
        SendingClient(identity: identity, node: network.node, state: MemoryState())
    }

    private func requests(to server: FakeServer, of type: MessageType) -> Int { server.requests.count { $0.type == type } }
    private var pushCount: Int { first.pushes.count + second.pushes.count }

    // MARK: Finding

    @Test func `advertised devices need no query: servers receive only the push request`() async throws {
        _ = try await registering().register(device, with: both)
        let reports = try await sending().push(message, to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.installationID) == ["phone"])
        #expect(pushCount == 1)
        #expect(requests(to: first, of: .pushNotificationQuery) + requests(to: second, of: .pushNotificationQuery) == 0)
    }

    @Test func `devices without advertisement are queried at all servers, and then known for a day`() async throws {
        _ = try await registering(advertises: false).register(device, with: both)
        let client = try sending()
        let devices = try await client.devices(of: alice.publicKey)
        #expect(Set(devices.map(\.server)) == Set(both) && devices.allSatisfy { $0.authorization == .verified })
        #expect(try await client.devices(of: alice.publicKey) == devices)
        #expect(requests(to: first, of: .pushNotificationQuery) == 1 && requests(to: second, of: .pushNotificationQuery) == 1)

        network.time.advance(by: .seconds(24 * 60 * 60))
        #expect(try await client.devices(of: alice.publicKey) == devices)
        #expect(requests(to: first, of: .pushNotificationQuery) == 2)
    }

    @Test func `a server that listens on the specification's topic, and not on the reference's, is found too`() async throws {
        _ = try await registering(advertises: false).register(device, with: [first.identity])
        first.forgetTopics(.plain)
        #expect(try await sending().devices(of: alice.publicKey).count == 1)
    }

    @Test func `an owner without registration is not found, and not queried again at once`() async throws {
        let client = try sending()
        #expect(try await client.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
        let count = network.envelopes.count
        #expect(try await client.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
        #expect(network.envelopes.count == count)
    }

    @Test func `an empty list of one server does not end the wait for another server's devices`() async throws {
        _ = try await registering(advertises: false).register(device, with: [second.identity])
        first.answer(queriesFor: alice.publicKey.publicKey)
        network.delayReplies(of: second, by: .seconds(2))
        #expect(try await sending().query(alice.publicKey).map(\.server) == [second.identity])
    }

    @Test func `a server's empty list and silence both mean that it knows nobody`() async throws {
        #expect(try await sending().query(alice.publicKey).isEmpty)
        first.answer(queriesFor: alice.publicKey.publicKey)
        #expect(try await sending().query(alice.publicKey).isEmpty)
        #expect(try await PushServer(first.identity, node: network.node).query(.key(alice.publicKey)).devices.isEmpty)
    }

    @Test func `devices of followed contacts, and their changes, are known before a push is due`() async throws {
        let registering = try await registering()
        _ = try await registering.register(device, with: [first.identity])
        let client = try sending()
        let events = client.events()
        network.time.hold()
        let following = Task { await client.follow([alice.publicKey]) }
        defer { following.cancel() }
        var iterator = events.makeAsyncIterator()
        let event = try #require(await iterator.next())
        #expect(event.kind == .learned && event.owner == alice.publicKey && event.devices.map(\.server) == [first.identity])
        _ = try await registering.register(device, with: both)
        await network.time.pass {
            while let event = await iterator.next() {
                if Set(event.devices.map(\.server)) == Set(both) { break }
            }
        }
    }

    @Test func `forged advertisements, and advertisements with a wrong grant, are rejected`() async throws {
        var random = SecureRandom()
        func publish(_ info: PushNotificationQueryInfo, signer: PrivateKey) async throws {
            var advertisement = ContactCodeAdvertisement()
            advertisement.pushNotificationInfo = [info]
            let topic = TopicName.contactCode(alice.publicKey.publicKey)
            let data = ApplicationMetadata.seal(advertisement.encoded(), type: .contactCodeAdvertisement, signer: signer)
            let payload = try RFC26.sealSymmetric(data, key: topic.deriveSymmetricKey(), signer: signer, using: &random)
            try await network.node.exchange.publish([payload], on: topic)
        }
        var info = PushNotificationQueryInfo()
        info.publicKey = alice.publicKey.hash.bytes.bytes
        info.installationID = "phone"
        info.version = 5
        info.accessToken = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
        info.serverPublicKey = first.key.publicKey.compressed.bytes
        let digest = Grant.digest(client: alice.publicKey.publicKey, server: first.key.publicKey, accessToken: info.accessToken)
        info.grant = bob.privateKey.sign(digest).bytes.bytes
        try await publish(info, signer: alice.privateKey)
        #expect(try await sending().devices(of: alice.publicKey).isEmpty)
        info.grant = alice.privateKey.sign(digest).bytes.bytes
        try await publish(info, signer: bob.privateKey)
        #expect(try await sending().devices(of: alice.publicKey).isEmpty)
        try await publish(info, signer: alice.privateKey)
        #expect(try await sending().devices(of: alice.publicKey).map(\.installationID) == ["phone"])
    }

    @Test func `the newest advertisement of an installation replaces the earlier one completely`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: both)
        _ = try await client.register(device, with: [second.identity])
        #expect(try await sending().devices(of: alice.publicKey).map(\.server) == [second.identity])
    }

    @Test func `advertisements are repeated after half a day, and not before`() async throws {
        let client = try await registering()
        _ = try await client.register(device, with: both)
        let topic = TopicName.contactCode(alice.publicKey.publicKey).topic.contentTopic
        var count: Int { network.envelopes.count { $0.message.contentTopic == topic } }
        #expect(count == 1)
        network.time.advance(by: .seconds(12 * 60 * 60 - 1))
        _ = try await client.register(device, with: both)
        #expect(count == 1)
        network.time.advance(by: .seconds(1))
        _ = try await client.register(device, with: both)
        #expect(count == 2)
    }

    // MARK: Contacts

    @Test func `for contacts only: the token is in no advertisement, and only contacts find it at the servers`() async throws {
        var device = device
        device.audience = .contacts([bob.publicKey])
        _ = try await registering().register(device, with: both)
        #expect(try await sending(bob).push(message, to: [Recipient(alice.publicKey)]).map(\.installationID) == ["phone"])
        #expect(pushCount == 1)
        let stranger = try await sending(Identity(.test(9))).push(message, to: [Recipient(alice.publicKey)])
        #expect(stranger.map(\.outcome) == [.unknown])
        #expect(pushCount == 1)
    }

    @Test func `for no contacts: nobody finds the token, and a push to nobody is sent to nobody`() async throws {
        var device = device
        device.audience = .contacts([])
        #expect(try await registering().register(device, with: both).map(\.phase) == [.registered, .registered])
        #expect(try await sending(bob).push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.unknown])
        #expect(try await sending(bob).query(alice.publicKey).map(\.authorization) == [.tokenHidden, .tokenHidden])
        let count = network.envelopes.count
        #expect(try await sending(bob).push(message, to: []) == [])
        #expect(network.envelopes.count == count && pushCount == 0)
    }

    @Test func `a response with hundreds of contacts comes in segments, and is assembled`() async throws {
        let network = FakeNetwork(serverCount: 1, segmenter: Segmenter(segmentByteCount: 1_000), clock: TestClock())
        var device = device
        device.audience = .contacts(Set((20..<250).map { PushClient.PublicKey(PrivateKey.test($0).publicKey) } + [bob.publicKey]))
        let client = try await RegisteringClient(identity: alice, node: network.node, state: MemoryState())
        _ = try await client.register(device, with: network.servers.map(\.identity))
        let sender = SendingClient(identity: bob, node: network.node, state: MemoryState())
        #expect(try await sender.query(alice.publicKey).map(\.encryptedTokenCount) == [231])
    }

    @Test func `a removed contact cannot notify the device with the old token or a new one`() async throws {
        let client = try await registering()
        var device = device
        device.audience = .contacts([bob.publicKey, Identity(.test(9)).publicKey])
        _ = try await client.register(device, with: both)
        let sender = try sending(bob)
        _ = try await sender.push(message, to: [Recipient(alice.publicKey)])
        #expect(pushCount == 1)

        device.audience = .contacts([Identity(.test(9)).publicKey])
        _ = try await client.register(device, with: both)
        #expect(try await sender.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.rejected(.wrongToken)])
        #expect(pushCount == 1)
        let next = PushMessage(kind: .message, messageID: [4])
        let other = try await sending(Identity(.test(9))).push(next, to: [Recipient(alice.publicKey)])
        #expect(other.count == 1 && pushCount == 2)
    }

    // MARK: Sending

    @Test func `a changed token is looked up, and the push is sent once, under the same message id`() async throws {
        let client = try await registering()
        var device = device
        device.audience = .contacts([bob.publicKey, Identity(.test(9)).publicKey])
        _ = try await client.register(device, with: both)
        let sender = try sending(bob)
        _ = try await sender.devices(of: alice.publicKey)
        device.audience = .contacts([bob.publicKey])
        _ = try await client.register(device, with: both)

        let reports = try await sender.push(message, to: [Recipient(alice.publicKey)])
        #expect(reports.first?.outcome.isAccepted == true)
        #expect(pushCount == 1)
        let requests = (first.requests + second.requests).filter { $0.type == .pushNotificationRequest }
        let messageIDs = try requests.map { try PushNotificationRequest.decode($0.payload).messageID }
        #expect(messageIDs == [[1, 2, 3], [1, 2, 3]])
        _ = try await sender.push(message, to: [Recipient(alice.publicKey)])
        #expect((first.requests + second.requests).count { $0.type == .pushNotificationRequest } == 3)
    }

    @Test func `the client tries another server after 3 seconds of silence`() async throws {
        _ = try await registering().register(device, with: both)
        let client = try sending()
        let preferred = try #require(try await client.devices(of: alice.publicKey).max { $0.version < $1.version }).server
        let silent = preferred == first.identity ? first : second
        silent.fault = .isSilent
        let start = network.time.now
        let reports = try await client.push(message, to: [Recipient(alice.publicKey)])
        let other = silent === first ? second : first
        #expect(reports.map(\.outcome) == [.accepted(by: other.identity)])
        #expect((.seconds(3)...(.seconds(4))).contains(start.duration(to: network.time.now)))
        #expect(other.pushes.count == 1)
    }

    @Test func `a node that fails during a push does not hide the reports, but one that is down from the start does`() async throws {
        _ = try await registering().register(device, with: [first.identity])
        let client = try sending()
        _ = try await client.devices(of: alice.publicKey)
        network.failReads(5)
        #expect(try await client.push(message, to: [Recipient(alice.publicKey)]).map(\.outcome) == [.accepted(by: first.identity)])
        network.setDown(true)
        await #expect(throws: PushClientError.nodeUnreachable(reason: "down")) {
            try await client.push(message, to: [Recipient(alice.publicKey)])
        }
    }

    @Test func `with a single server, the client retries after INTERNAL_ERROR`() async throws {
        _ = try await registering().register(device, with: [first.identity])
        first.refusePushes(with: [.internalError, .internalError])
        let reports = try await sending().push(message, to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == [.accepted(by: first.identity)])
        #expect(pushCount == 1)
    }

    @Test func `a push notifies three of many devices, in the order of the sender's preference`() async throws {
        for index in 0..<5 {
            let device = Device(deviceToken: "token \(index)", service: .firebase)
            _ = try await registering(nil, "device \(index)", advertises: false).register(device, with: [first.identity])
            network.time.advance(by: .seconds(1))
        }
        let newest = try await sending().push(message, to: [Recipient(alice.publicKey)])
        #expect(newest.map(\.installationID) == ["device 4", "device 3", "device 2"])
        let wanted = ["device 0", "device 3"]
        let chosen = try await sending().push(message, to: [Recipient(alice.publicKey, installationIDs: wanted)])
        #expect(chosen.map(\.installationID) == wanted)
        #expect(try await sending().push(message, to: [Recipient(alice.publicKey)], maximumDeviceCount: 1).count == 1)
        // The server merges what belongs to the same message.
        #expect(first.pushes.map(\.target.installationID) == ["device 4", "device 3", "device 2", "device 0"])
    }

    @Test func `several recipients of a message are notified together, each device through one server`() async throws {
        _ = try await registering(alice).register(device, with: both)
        _ = try await registering(bob).register(device, with: both)
        let reports = try await sending().push(message, to: [Recipient(alice.publicKey), Recipient(bob.publicKey)])
        #expect(reports.map(\.owner) == [alice.publicKey, bob.publicKey])
        #expect(pushCount == 2)
    }

    @Test func `the client tries another server if one has lost its registrations`() async throws {
        _ = try await registering().register(device, with: both)
        let client = try sending()
        let devices = try await client.devices(of: alice.publicKey)
        let preferred = try #require(devices.max { $0.version < $1.version }).server
        (preferred == first.identity ? first : second).forgetRegistrations()
        let reports = try await client.push(message, to: [Recipient(alice.publicKey)])
        #expect(reports.map(\.outcome) == both.filter { $0 != preferred }.map { .accepted(by: $0) })
        #expect(try await client.devices(of: alice.publicKey).map(\.server) == both.filter { $0 != preferred })
    }

    // MARK: Anonymous mode

    @Test func `in anonymous mode nothing on the wire carries the chat key, in any form`() async throws {
        let chat = Identity(.test(7))
        let anonymous = Identity.generate()
        // The chat key belongs to a contact and to the sender, takes part in all exchanges, and never appears.
        var device = device
        device.audience = .contacts([bob.publicKey])
        let client = try await registering(anonymous)
        _ = try await client.register(device, with: both)
        let asChat = try sending(chat)
        _ = try await asChat.push(message, to: [Recipient(anonymous.publicKey)])
        #expect(try await sending(bob).push(message, to: [Recipient(anonymous.publicKey)]).count == 1)
        device.audience = .contacts([])
        _ = try await client.register(device, with: both)
        try await client.unregister()
        #expect(pushCount == 1 && network.envelopes.count > 10)

        let scan = KeyScan(for: chat.publicKey.publicKey, opening: network.servers.map(\.key) + [anonymous.privateKey, bob.privateKey])
        #expect(scan.traces(in: network.envelopes).isEmpty)
    }

    @Test func `the scan for the chat key finds it where it is not hidden: on the wire, and under its layers`() async throws {
        _ = try await registering(alice).register(device, with: [first.identity])
        let outside = KeyScan(for: alice.publicKey.publicKey, opening: [])
        #expect(!outside.traces(in: network.envelopes).isEmpty)
        let count = network.envelopes.count
        _ = try await sending().query(alice.publicKey)
        // The server's reply names their owner, but only in its encrypted part.
        let answer = try #require(network.envelopes[count...].last)
        #expect(outside.traces(in: [answer]).isEmpty)
        let registration = try #require(network.envelopes.first)
        let inside = KeyScan(for: alice.publicKey.publicKey, opening: [first.key])
        #expect(outside.traces(in: [registration]).isEmpty)
        #expect(inside.traces(in: [registration]).contains("a signer"))
    }
}
