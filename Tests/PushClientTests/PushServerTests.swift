import Bytes
import Envelope
import PushClient
import PushClientTesting
import StatusCrypto
import Synchronization
import TestSupport
import Testing
import Wire

/// A node that passes on one more message each time it is asked.
private final class OneByOne: FakeNode {
    private let server: FakeServer
    private let count = Atomic(0)

    init(server: FakeServer) { self.server = server }

    func publish(_ envelope: WakuEnvelope) async throws { try await server.publish(envelope) }

    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        let messages = try await server.messages(on: pubsubTopic, topics: topics, since: start)
        return messages.isEmpty ? [] : Array(messages.prefix(count.add(1, ordering: .relaxed).newValue))
    }
}

/// Single requests to one server.
@Suite(.safetyNet)
struct PushServerTests {
    let identity = Identity(.test(7))
    private let time = TestClock()

    func client(of node: any FakeNode) -> PushServer {
        PushServer(PushClient.PublicKey(PrivateKey.test(1).publicKey), node: time.node(node))
    }

    var device: Device {
        Device(deviceToken: String(repeating: "ab", count: 32), service: .apn(bundleID: "im.status.ethereum"))
    }

    @Test(arguments: [0, 1] as [UInt32]) func `replies of version 0 and 1 are read alike`(label: UInt32) async throws {
        let client = client(of: FakeServer(label: label))
        let receipt = try await client.register(device, installationID: "phone", as: identity)
        let answer = try await client.query(.key(identity.publicKey))
        #expect(answer.devices.map(\.accessToken) == [receipt.accessToken])
        let target = PushDevice(owner: .key(identity.publicKey), installationID: "phone", accessToken: receipt.accessToken ?? "")
        let reports = try await client.push(PushMessage(kind: .message, messageID: [1]), to: [target])
        #expect(reports.map(\.outcome) == [.accepted])
    }

    // MARK: Registering

    @Test func `a registration arrives as requested, and the receipt has the generated values`() async throws {
        let server = FakeServer()
        var device = device
        device.isEnabled = false
        device.blocksMentions = true
        device.blockedChats = [ChatID("status")]
        device.mutedChats = [ChatID("a"), ChatID("b")]
        device.mentionChats = [ChatID("c")]
        let receipt = try await client(of: server).register(device, installationID: "phone", as: identity)

        let stored = try #require(server.registrations.first)
        #expect(stored.tokenType == .apn)
        #expect(stored.deviceToken.text == device.deviceToken)
        #expect(stored.apnTopic == "im.status.ethereum")
        #expect(stored.installationID == "phone")
        #expect(!stored.enabled && stored.blockMentions && !stored.unregister && !stored.allowFromContactsOnly)
        // The hash of golden vectors 01.
        #expect(
            stored.blockedChatList.map { Hex.encode($0) } == [
                "005fc334f5eee410f8d6e5378e437b920deab61216e7666cbcc214c9061a0e11"
                    + "6ab9a52b0762144d94d214512960c1dda446bd83cc81d118464a84005f980ed8"
            ])
        #expect(Set(stored.mutedChatList) == Set(["a", "b"].map { Keccak.shake256(Array($0.utf8)).bytes }))
        #expect(stored.allowedMentionsChatList == [Keccak.shake256(Array("c".utf8)).bytes])

        #expect(receipt.installationID == "phone")
        #expect(receipt.accessToken == stored.accessToken.text)
        #expect(receipt.version == 1_700_000_000_123 && stored.version == receipt.version)
        #expect(receipt.requestID == Keccak.shake256(try #require(server.requests.first).payload).description)
    }

    /// The limits of PROTOCOL.md §7 row 9a.
    @Test(arguments: [0, 300, 8_100])
    func `contacts and chats up to the servers' limit are registered, and one more is an error before sending`(
        chatCount: Int
    ) async throws {
        let server = FakeServer()
        var device = device
        var random = SplitMix64(seed: 1)
        device.audience = .contacts(
            Set((chatCount..<8_192).map { _ in PushClient.PublicKey(PrivateKey.generate(using: &random).publicKey) }))
        device.mutedChats = Set((0..<chatCount).map { ChatID("chat \($0)") })
        _ = try await client(of: server).register(device, installationID: "phone", as: identity)
        let stored = try #require(server.registrations.first)
        #expect(stored.allowedKeyList.count == 8_192 - chatCount && stored.mutedChatList.count == chatCount)

        device.mentionChats = [ChatID("one more")]
        let (client, larger) = (client(of: server), device)
        let error = await #expect(throws: PushClientError.self) {
            try await client.register(larger, installationID: "phone", as: identity)
        }
        #expect(error?.code == .invalidRegistration && server.requests.count == 1)
    }

    @Test func `a Firebase device, its access token and its version are registered as given`() async throws {
        let server = FakeServer()
        let device = Device(deviceToken: "token", service: .firebase)
        let accessToken = "B6AE4FDE-bb65-11ea-b3de-0242ac130004"
        let receipt = try await client(of: server).register(
            device, installationID: "tablet", accessToken: accessToken, version: .max, as: identity)
        let stored = try #require(server.registrations.first)
        #expect(stored.tokenType == .firebase && stored.apnTopic.isEmpty && stored.deviceToken == "token" && stored.enabled)
        #expect(stored.accessToken.text == accessToken && receipt.accessToken == accessToken)
        #expect(receipt.version == .max)
    }

    @Test func `two registrations without an access token get different ones`() async throws {
        let server = FakeServer()
        let first = try await client(of: server).register(device, installationID: "phone", as: identity)
        let second = try await client(of: server).register(device, installationID: "tablet", as: identity)
        #expect(first.accessToken != second.accessToken)
    }

    @Test func `rejections have their reason`() async throws {
        let client = client(of: FakeServer())
        let version = try await client.register(device, installationID: "phone", as: identity).version
        await #expect(throws: PushClientError.registrationRejected(.versionMismatch)) {
            try await client.register(device, installationID: "phone", version: 1, as: identity)
        }
        #expect(try await client.register(device, installationID: "phone", version: version + 1, as: identity).version == version + 1)
        await #expect(throws: PushClientError.registrationRejected(.malformedMessage)) {
            try await client.register(device, installationID: "other", accessToken: "no UUID", as: identity)
        }
        let token = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
        _ = try await client.register(device, installationID: "other", accessToken: token, as: identity)
    }

    @Test func `an unregistration removes the device, and needs a higher version`() async throws {
        let server = FakeServer()
        let client = client(of: server)
        let registered = try await client.register(device, installationID: "phone", as: identity)
        await #expect(throws: PushClientError.registrationRejected(.versionMismatch)) {
            try await client.unregister(installationID: "phone", version: registered.version, as: identity)
        }
        let receipt = try await client.unregister(installationID: "phone", version: registered.version + 1, as: identity)
        #expect(receipt.accessToken == nil && receipt.version == registered.version + 1)
        #expect(server.registrations.isEmpty)
    }

    // MARK: Querying

    @Test func `a query returns the devices, by key with verified grants, by hash without`() async throws {
        let server = FakeServer()
        let client = client(of: server)
        let receipt = try await client.register(device, installationID: "phone", as: identity)

        let byKey = try await client.query(.key(identity.publicKey))
        let info = try #require(byKey.devices.first)
        #expect(byKey.devices.count == 1 && byKey.rejectedCount == 0)
        #expect(info.installationID == "phone" && info.accessToken == receipt.accessToken && info.version == receipt.version)
        #expect(info.authorization == .verified)

        let byHash = try await client.query(.hash(identity.publicKey.hash))
        #expect(byHash.devices.map(\.authorization) == [.keyUnknown])
        #expect(byHash.devices.map(\.accessToken) == [receipt.accessToken])
    }

    @Test func `an answer in two responses is one result`() async throws {
        let server = FakeServer()
        for number in 1...5 {
            var registration = PushNotificationRegistration()
            registration.installationID = "device \(number)"
            registration.accessToken = "token"
            registration.version = UInt64(number)
            registration.allowedKeyList = (0..<4_000).map { [UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 64) }
            server.plant(registration, of: identity.privateKey.publicKey)
        }
        let answer = try await client(of: OneByOne(server: server)).query(.key(identity.publicKey))
        #expect(answer.devices.map(\.installationID) == (1...4).map { "device \($0)" })
        #expect(answer.devices.map(\.encryptedTokenCount) == [Int](repeating: 4_000, count: 4) && answer.rejectedCount == 0)
    }

    @Test func `queries and pushes are sent under new keys that are not the identity's`() async throws {
        let server = FakeServer()
        let client = client(of: server)
        let receipt = try await client.register(device, installationID: "phone", as: identity)
        _ = try await client.query(.key(identity.publicKey))
        _ = try await client.query(.key(identity.publicKey))
        for _ in 1...2 { _ = try await client.query(.key(identity.publicKey), as: identity) }
        _ = try await client.push(PushMessage(kind: .message, messageID: [1]), to: [target(receipt)])
        #expect(Set(server.requests.map(\.sender)).count == 6)
    }

    @Test func `a device whose grant is not the owner's for this server and token is rejected`() async throws {
        let server = FakeServer()
        func plant(_ installation: String, grantBy signer: PrivateKey, for granted: PrivateKey, _ token: AccessToken) {
            var registration = PushNotificationRegistration()
            registration.installationID = installation
            registration.accessToken = "token"
            registration.version = 1
            let digest = Grant.digest(client: identity.privateKey.publicKey, server: granted.publicKey, accessToken: token)
            registration.grant = signer.sign(digest).bytes.bytes
            server.plant(registration, of: identity.privateKey.publicKey)
        }
        plant("good", grantBy: identity.privateKey, for: server.key, "token")
        plant("signed by another", grantBy: server.key, for: server.key, "token")
        plant("for another server", grantBy: identity.privateKey, for: .test(2), "token")
        plant("for another token", grantBy: identity.privateKey, for: server.key, "other")
        let answer = try await client(of: server).query(.key(identity.publicKey))
        #expect(answer.devices.map(\.installationID) == ["good"])
        #expect(answer.rejectedCount == 3)
    }

    @Test func `a device of another owner in the response is rejected`() throws {
        var info = PushNotificationQueryInfo()
        info.publicKey = PrivateKey.test(9).publicKey.hash.bytes
        var response = PushNotificationQueryResponse()
        response.info = [info]
        let answer = QueryResult(response, about: .hash(identity.publicKey.hash), by: PrivateKey.test(1).publicKey)
        #expect(answer.devices.isEmpty && answer.rejectedCount == 1)
        response.info[0].publicKey = identity.publicKey.hash.bytes.bytes
        let own = QueryResult(response, about: .hash(identity.publicKey.hash), by: PrivateKey.test(1).publicKey)
        #expect(own.devices.count == 1 && own.rejectedCount == 0)
        // Of an installation the newest version counts.
        response.info += response.info
        response.info[1].version = 2
        let newest = QueryResult(response, about: .hash(identity.publicKey.hash), by: PrivateKey.test(1).publicKey)
        #expect(newest.devices.map(\.version) == [2] && newest.rejectedCount == 0)
    }

    @Test func `of an answer the first 64 infos are read, whatever they are`() throws {
        func info(of owner: PrivateKey, _ number: Int) -> PushNotificationQueryInfo {
            var info = PushNotificationQueryInfo()
            info.publicKey = owner.publicKey.hash.bytes
            info.installationID = "\(number)"
            return info
        }
        var response = PushNotificationQueryResponse()
        response.info = (1...62).map { info(of: .test(9), $0) } + (1...40).map { info(of: identity.privateKey, $0) }
        let answer = QueryResult(response, about: .hash(identity.publicKey.hash), by: PrivateKey.test(1).publicKey)
        #expect(answer.devices.count == 2 && answer.rejectedCount == 100)
    }

    @Test func `a device for contacts only is returned without its token and with an unverifiable grant`() async throws {
        let server = FakeServer()
        var registration = PushNotificationRegistration()
        registration.installationID = "phone"
        registration.accessToken = "token"
        registration.allowedKeyList = [[1], [2]]
        server.plant(registration, of: identity.privateKey.publicKey)
        let answer = try await client(of: server).query(.key(identity.publicKey))
        let info = try #require(answer.devices.first)
        #expect(info.accessToken == nil && info.encryptedTokenCount == 2 && info.authorization == .tokenHidden)
    }

    // MARK: Pushing

    private static let kinds: [(PushMessage.Kind, Int32)] = [
        (.message, 1), (.mention, 2), (.requestToJoinCommunity, 3), (.contactRequest, 4),
    ]

    @Test(arguments: kinds) func `a push arrives as requested`(kind: PushMessage.Kind, type: Int32) async throws {
        let server = FakeServer()
        let receipt = try await client(of: server).register(device, installationID: "phone", as: identity)
        var message = PushMessage(kind: kind, messageID: [1, 2, 3])
        message.chat = ChatID("status")
        message.author = PushClient.PublicKey(PrivateKey.test(5).publicKey)
        message.ciphertext = [9, 9]
        let reports = try await client(of: server).push(message, to: [target(receipt)])
        #expect(reports.map(\.outcome) == [.accepted])
        #expect(reports.map(\.installationID) == ["phone"])
        #expect(reports.map(\.keyHash) == [identity.publicKey.hash.hex])

        let request = try PushNotificationRequest.decode(try #require(server.requests.last).payload)
        #expect(request.messageID == [1, 2, 3])
        let notification = try #require(request.requests.first)
        #expect(notification.type.rawValue == type && notification.message == [9, 9])
        #expect(notification.chatID == Keccak.shake256(Array("status".utf8)).bytes)
        #expect(notification.author == Keccak.shake256(Array("0x\(PrivateKey.test(5).publicKey.uncompressed)".utf8)).bytes)
    }

    @Test func `each device has its report`() async throws {
        let client = client(of: FakeServer())
        let receipt = try await client.register(device, installationID: "phone", as: identity)
        var wrong = try target(receipt)
        wrong.accessToken = "wrong"
        var missing = try target(receipt)
        missing.installationID = "tablet"
        let reports = try await client.push(
            PushMessage(kind: .message, messageID: [1]), to: [target(receipt), wrong, missing])
        #expect(reports.map(\.outcome) == [.accepted, .wrongToken, .notRegistered])
    }

    private func target(_ receipt: RegistrationReceipt) throws -> PushDevice {
        PushDevice(
            owner: .key(identity.publicKey), installationID: receipt.installationID, accessToken: try #require(receipt.accessToken))
    }

    // MARK: Waiting

    @Test(arguments: FakeServer.Fault.allCases)
    func `other messages than the server's reply to this request count as no reply`(fault: FakeServer.Fault) async throws {
        let server = FakeServer(fault: fault)
        await #expect(throws: PushClientError.noReply(after: .seconds(10))) {
            try await client(of: server).register(device, installationID: "phone", as: identity)
        }
        #expect(server.requests.count == 1)
    }

    @Test func `a reply within the timeout is accepted, and a later one is not`() async throws {
        let network = FakeNetwork(serverCount: 1, clock: time)
        let client = PushServer(network.servers[0].identity, node: network.node)
        network.delayReplies(of: network.servers[0], by: .milliseconds(9_900))
        #expect(try await client.register(device, installationID: "phone", as: identity).installationID == "phone")
        network.delayReplies(of: network.servers[0], by: .milliseconds(10_100))
        await #expect(throws: PushClientError.noReply(after: .seconds(10))) {
            try await client.register(device, installationID: "phone", as: identity)
        }
    }

    @Test func `a poll of a node follows after 25 ms, then at least every 250 ms, and twice a second once no reply is due`() {
        var rhythm = PollRhythm()
        let pauses = (0..<45).map { _ in rhythm.next() }
        #expect(Array(pauses[..<4]) == [25, 50, 100, 200].map { .milliseconds($0) })
        #expect(pauses[4..<44].allSatisfy { $0 == .milliseconds(250) } && pauses.last == .milliseconds(500))
        #expect(pauses.dropLast().reduce(.zero, +) > PushServer.defaultTimeout)
    }

    @Test func `a query about an unknown owner gets no reply`() async throws {
        await #expect(throws: PushClientError.noReply(after: .seconds(10))) {
            try await client(of: FakeServer()).query(.key(identity.publicKey))
        }
    }

    @Test(arguments: [500, 503])
    func `a message that a node failed to publish is published again, byte for byte`(status: Int) async throws {
        let node = PeerlessNode(status: status, failing: 3)
        _ = try await client(of: node).register(device, installationID: "phone", as: identity)
        #expect(node.attempts.count == 4)
        #expect(Set(node.attempts.map(\.hash)).count == 1)
        #expect(time.wallClock.now() >= TestClock.start.advanced(by: .milliseconds(3_500)))
    }

    @Test(arguments: [(500, 4), (400, 1)])
    func `the client gives up a failing node after four attempts, and a rejecting one after the first`(status: Int, count: Int) async {
        let node = PeerlessNode(status: status, failing: 100)
        await #expect(throws: PushClientError.nodeRejected(status: status, text: "")) {
            try await client(of: node).register(device, installationID: "phone", as: identity)
        }
        #expect(node.attempts.count == count)
    }
}

/// A server's node that has no peers at first.
private final class PeerlessNode: FakeNode {
    private let server = FakeServer()
    private let status: Int
    private let failureCount: Int
    private let state = Mutex<[WakuEnvelope]>([])

    init(status: Int, failing failureCount: Int) {
        self.status = status
        self.failureCount = failureCount
    }

    var attempts: [WakuEnvelope] { state.withLock { $0 } }

    func publish(_ envelope: WakuEnvelope) async throws {
        let attemptCount = state.withLock { attempts in
            attempts.append(envelope)
            return attempts.count
        }
        guard attemptCount > failureCount else { throw PushClientError.nodeRejected(status: status, text: "") }
        try await server.publish(envelope)
    }

    func messages(on pubsubTopic: String, topics: Set<Topic>, since start: Timestamp) async throws -> [WakuEnvelope] {
        try await server.messages(on: pubsubTopic, topics: topics, since: start)
    }
}
