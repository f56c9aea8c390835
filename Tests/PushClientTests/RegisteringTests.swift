import Bytes
import Envelope
import Foundation
import PushClient
import PushClientFileState
import PushClientTesting
import StatusCrypto
import Tasks
import TestSupport
import Testing
import Wire

/// A registering client on a network with two servers.
@Suite(.safetyNet)
struct RegisteringTests {
    private let network = FakeNetwork()
    private let identity = Identity(.test(7))
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }
    private var both: [PushClient.PublicKey] { network.servers.map(\.identity) }
    private let device = Device(deviceToken: "token", service: .firebase)

    /// - Parameter timeout: The time-out of each request. A longer one only adds polls of the node, which prove nothing.
    private func client(
        _ state: (any ClientState)? = nil, identity: Identity? = nil, timeout: Duration = PushServer.defaultTimeout
    ) async throws -> RegisteringClient {
        try await RegisteringClient(
            identity: identity ?? self.identity, node: network.node, state: state ?? MemoryState(), timeout: timeout,
            advertisingInterval: nil)
    }

    private func stored(_ server: FakeServer) throws -> PushNotificationRegistration {
        #expect(server.registrations.count == 1)
        return try #require(server.registrations.first)
    }

    // MARK: Requests to servers

    @Test func `all servers have the same registration, each with its own grant`() async throws {
        let client = try await client()
        let statuses = try await client.register(device, with: both)
        #expect(statuses.map(\.phase) == [.registered, .registered])
        let (one, other) = (try stored(first), try stored(second))
        #expect(one.accessToken == other.accessToken && one.installationID == other.installationID && one.deviceToken == other.deviceToken)
        #expect(one.grant != other.grant)
        #expect(await client.accessToken == one.accessToken.text)
    }

    @Test func `an unchanged registration is not sent again, and a changed one has a higher version`() async throws {
        let client = try await client()
        _ = try await client.register(device, with: both)
        _ = try await client.register(device, with: both)
        #expect(first.requests.count == 1)
        let version = try stored(first).version

        var changed = device
        changed.mutedChats = [ChatID("noise")]
        _ = try await client.register(changed, with: both)
        #expect(first.requests.count == 2 && second.requests.count == 2)
        #expect(try stored(first).version > version)
        #expect(try stored(first).mutedChatList.count == 1)
    }

    @Test func `blocked chats and authors go into one list of hashes`() async throws {
        var device = device
        let author = PushClient.PublicKey(PrivateKey.test(9).publicKey)
        device.blockedChats = [ChatID("spam")]
        device.blockedAuthors = [author]
        _ = try await client().register(device, with: [first.identity])
        let expected = ["spam", author.hex].map { Keccak.shake256(Array($0.utf8)).bytes }
        #expect(Set(try stored(first).blockedChatList) == Set(expected))
    }

    @Test func `an added server gets a request without one to the other, and a removed server unregisters the device`() async throws {
        let client = try await client()
        _ = try await client.register(device, with: [first.identity])
        _ = try await client.register(device, with: both)
        #expect(first.requests.count == 1 && second.registrations.count == 1)
        let statuses = try await client.register(device, with: [second.identity])
        #expect(first.registrations.isEmpty && second.requests.count == 1)
        #expect(statuses.map(\.server) == [second.identity])
    }

    @Test func `a device unregisters from one server or from all`() async throws {
        let client = try await client()
        _ = try await client.register(device, with: both)
        #expect(try await client.unregister(from: first.identity).map(\.server) == [second.identity])
        #expect(first.registrations.isEmpty && second.registrations.count == 1)
        #expect(try await client.unregister().isEmpty)
        #expect(second.registrations.isEmpty)
    }

    // MARK: The access token

    @Test func `the access token changes when a contact is removed or only contacts may notify, and at no other change`() async throws {
        let client = try await client()
        func register(_ audience: PushClient.Device.Audience, muted: [String] = []) async throws -> String {
            var device = device
            device.audience = audience
            device.mutedChats = Set(muted.map(ChatID.init))
            _ = try await client.register(device, with: both)
            #expect(try stored(first).accessToken == stored(second).accessToken)
            return try stored(first).accessToken.text
        }
        func contacts(_ numbers: UInt8...) -> PushClient.Device.Audience {
            .contacts(Set(numbers.map { PushClient.PublicKey(PrivateKey.test($0).publicKey) }))
        }
        let token = try await register(.anyone)
        #expect(try await register(.anyone, muted: ["a"]) == token)
        let forContacts = try await register(contacts(10, 11), muted: ["a"])
        #expect(forContacts != token)
        #expect(try await register(contacts(10, 11, 12), muted: ["b"]) == forContacts)
        let afterRemoval = try await register(contacts(10, 12))
        #expect(afterRemoval != forContacts)
        #expect(try await register(.anyone) == afterRemoval)
    }

    @Test func `each contact can decrypt the access token, and nobody else`() async throws {
        let client = try await client()
        var device = device
        device.audience = .contacts(Set([10, 11].map { PushClient.PublicKey(PrivateKey.test($0).publicKey) }))
        _ = try await client.register(device, with: [first.identity])
        let registration = try stored(first)
        #expect(registration.allowFromContactsOnly && registration.allowedKeyList.count == 2)
        let server = PushServer(first.identity, node: network.node)
        for (number, token) in [(10, registration.accessToken.text), (11, registration.accessToken.text), (12, nil)] as [(UInt8, String?)] {
            let answer = try await server.query(.key(identity.publicKey), as: Identity(.test(number)))
            #expect(answer.devices.map(\.accessToken) == [token])
            #expect(answer.devices.map(\.authorization) == [token == nil ? .tokenHidden : .verified])
        }
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func `a lost reply does not lock the client out: the next request has a higher version`(acceptsRetransmission: Bool) async throws {
        let client = try await client()
        if !acceptsRetransmission { first.refuseRetransmissions() }
        network.loseReplies(of: first)
        let statuses = try await client.register(device, with: [first.identity])
        #expect(statuses.map(\.phase) == [.registering] && statuses.map(\.failureCount) == [1])
        let version = try stored(first).version
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(try stored(first).version > version)
    }

    @Test func `versions rise even if the clock stands still or goes back`() async throws {
        let client = try await client()
        var versions: [UInt64] = []
        for index in 0..<3 {
            var device = device
            device.mutedChats = [ChatID("\(index)")]
            network.time.advance(by: .seconds(-1000 * index))
            _ = try await client.register(device, with: [first.identity])
            versions.append(try stored(first).version)
        }
        #expect(versions == versions.sorted() && Set(versions).count == 3)
    }

    @Test(arguments: [0, 60, 3_000_000_000])
    func `a device that lost its state is above the version that a server has, even if its clock was ahead`(
        clockWasAheadBySeconds seconds: Int
    ) async throws {
        network.time.advance(by: .seconds(seconds))
        let before = try await RegisteringClient(identity: identity, anyInstallationID: "phone", node: network.node, state: MemoryState())
        _ = try await before.register(device, with: [first.identity])
        network.time.advance(by: .seconds(-seconds))
        let after = try await RegisteringClient(identity: identity, anyInstallationID: "phone", node: network.node, state: MemoryState())
        #expect(try await after.register(device, with: [first.identity]).map(\.phase) == [.registered])
        let accessToken = await after.accessToken
        #expect(try stored(first).accessToken.text == accessToken)
    }

    @Test func `the client gives up after four requests if a server always finds the version too low`() async throws {
        let client = try await client()
        first.refuseRegistrations(with: Array(repeating: .versionMismatch, count: 100))
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.rejected(.versionMismatch)])
        #expect(first.requests.count == 4)
    }

    @Test(arguments: [RegistrationError.malformedMessage, .unsupportedTokenType])
    func `a registration that the server calls malformed is not repeated until it changes`(error: RegistrationError) async throws {
        let client = try await client()
        first.refuseRegistrations(with: [error])
        let statuses = try await client.register(device, with: both)
        #expect(statuses.first?.phase.rejection?.rawValue == error.rawValue)
        #expect(statuses.last?.phase == .registered)
        network.time.advance(by: .seconds(100_000))
        try await client.unregister(from: second.identity)
        #expect(first.requests.count == 1)
        var changed = device
        changed.deviceToken = "better"
        #expect(try await client.register(changed, with: [first.identity]).first?.phase == .registered)
    }

    @Test(arguments: [true, false])
    func `failed registrations are retried after growing delays until the server replies`(isSilent: Bool) async throws {
        let client = try await client(timeout: PollRhythm.first)
        if isSilent {
            network.loseReplies(of: first, count: 5)
        } else {
            first.refuseRegistrations(with: Array(repeating: .internalError, count: 5))
        }
        let events = client.events()
        _ = try await client.register(device, with: [first.identity])
        let running = Task { await client.run() }
        defer { running.cancel() }
        var delays: [Duration] = []
        loop: for await event in events {
            if event.kind == .registered { break loop }
            delays.append(try #require(event.delay))
        }
        #expect(delays.count == 5)
        for (index, delay) in delays.enumerated() { #expect((.seconds(1 << index)...(.seconds(2 << index))).contains(delay)) }
        #expect(first.requests.count == 6)
    }

    @Test func `a reply after the timeout still counts`() async throws {
        let client = try await client()
        network.delayReplies(of: first, by: .seconds(11))
        let events = client.events()
        _ = try await client.register(device, with: [first.identity])
        let running = Task { await client.run() }
        defer { running.cancel() }
        for await event in events {
            if event.kind == .registered { break }
        }
        #expect(await client.statuses.map(\.phase) == [.registered])
        #expect(first.requests.count == 1)
    }

    @Test func `a late reply to an earlier request is ignored after the server has rejected a newer one`() async throws {
        let client = try await client()
        network.delayReplies(of: first, by: .seconds(12))
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registering])
        network.delayReplies(of: first, by: .zero)
        first.refuseRegistrations(with: [.malformedMessage, .malformedMessage])
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.rejected(.malformedMessage)])
        network.time.advance(by: .seconds(2))
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.rejected(.malformedMessage)])
        #expect(first.requests.count == 3)
    }

    @Test func `an echo of the reply to an earlier version does not count for a newer one`() async throws {
        let client = try await client()
        let version = try #require(await client.register(device, with: [first.identity]).first?.version)
        let echo = try #require(network.envelopes.last)
        first.fault = .isSilent
        var changed = device
        changed.deviceToken = "changed"
        network.time.hold()
        let registering = Task { [changed] in try await client.register(changed, with: [first.identity]) }
        await network.time.sleeper(dueIn: PollRhythm.first)
        try await network.publish(echo)
        let statuses = try await network.time.pass { try await registering.value }
        #expect(statuses.map(\.phase) == [.registering] && statuses.map(\.version) == [version])
    }

    @Test func `a rejected change keeps the accepted version, and is sent again only on request`() async throws {
        let client = try await client()
        let version = try #require(await client.register(device, with: [first.identity]).first?.version)
        first.refuseRegistrations(with: [.malformedMessage])
        var changed = device
        changed.deviceToken = "changed"
        let statuses = try await client.register(changed, with: [first.identity])
        #expect(statuses.map(\.phase) == [.rejected(.malformedMessage)] && statuses.map(\.version) == [version])
        #expect(try await client.register(changed, with: [first.identity]).map(\.phase) == [.registered])
        #expect(first.requests.count == 3)
    }

    @Test func `a device that unregistered while a reply was late registers again`() async throws {
        let client = try await client()
        network.delayReplies(of: first, by: .seconds(12))
        _ = try await client.register(device, with: [first.identity])
        first.fault = .isSilent
        #expect(try await client.unregister().map(\.phase) == [.unregistering])
        #expect(first.registrations.isEmpty)
        first.fault = nil
        network.delayReplies(of: first, by: .zero)
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(first.registrations.count == 1)
    }

    @Test func `an idle client sleeps, also while another one waits for a reply`() async throws {
        let clock = ManualClock()
        let transport = FakeTransport(node: network, time: network.time)
        let node = Node(
            transport: transport, pubsubTopic: FakeServer.pubsubTopic, clock: clock, limitClock: network.time.limits,
            wallClock: network.time.wallClock)
        let client = try await RegisteringClient(identity: identity, node: node, state: MemoryState())
        first.fault = .isSilent
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await clock.sleepers(dueIn: PollRhythm.first)
        let running = Task { await client.run() }
        // An endless loop would never sleep.
        await clock.sleepers(dueIn: .seconds(60 * 60))
        running.cancel()
        registering.cancel()
        await running.value
    }

    @Test func `the client waits for a node that is down`() async throws {
        let client = try await client()
        network.setDown(true)
        #expect(try await client.register(device, with: both).map(\.phase) == [.registering, .registering])
        let events = client.events()
        network.setDown(false)
        let running = Task { await client.run() }
        defer { running.cancel() }
        var registered: Set<PushClient.PublicKey> = []
        for await event in events {
            if event.kind == .registered, let server = event.server { registered.insert(server) }
            if registered.count == 2 { break }
        }
    }

    // MARK: Cancelled calls

    @Test func `a call of a cancelled task throws CancellationError, and its desired state is sent later`() async throws {
        let client = try await client()
        try await registerCancelled(client)
        #expect(first.requests.isEmpty)
        let events = client.events()
        let running = Task { await client.run() }
        defer { running.cancel() }
        for await event in events {
            if event.kind == .registered { break }
        }
        #expect(await client.statuses.map(\.phase) == [.registered])
    }

    @Test func `a call that is cancelled while it waits throws CancellationError, and does not count as a failure`() async throws {
        let client = try await client()
        network.time.hold()
        first.fault = .isSilent
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await network.time.sleeper(dueIn: PollRhythm.first)
        registering.cancel()
        await #expect(throws: CancellationError.self) { try await registering.value }
        #expect(await client.statuses.map(\.failureCount) == [0])
    }

    @Test func `single requests and lookups throw CancellationError when they are cancelled`() async throws {
        network.time.hold()
        first.fault = .isSilent
        let server = PushServer(first.identity, node: network.node)
        let sender = SendingClient(node: network.node, state: MemoryState())
        let calls: [@Sendable () async throws -> Void] = [
            { [device, identity] in _ = try await server.register(device, installationID: "phone", as: identity) },
            { [identity] in _ = try await sender.devices(of: identity.publicKey) },
        ]
        for call in calls {
            let calling = Task { try await call() }
            await network.time.sleeper(dueIn: PollRhythm.first)
            calling.cancel()
            await #expect(throws: CancellationError.self) { try await calling.value }
        }
    }

    /// Registers the device in a task that is cancelled before the call.
    private func registerCancelled(_ client: RegisteringClient) async throws {
        let gate = Notify()
        let registering = Task {
            await gate.wait()
            return try await client.register(device, with: [first.identity])
        }
        registering.cancel()
        await #expect(throws: CancellationError.self) { try await registering.value }
    }

    // MARK: register while run is active

    @Test func `register during run returns the result of the request that run has in progress`() async throws {
        let client = try await client()
        try await registerCancelled(client)
        network.time.hold()
        network.delayReplies(of: first, by: .seconds(5))
        let running = Task { await client.run() }
        await network.time.sleeper(dueIn: PollRhythm.first)
        let registering = Task { try await client.register(device, with: [first.identity]) }
        let statuses = try await network.time.pass { try await registering.value }
        #expect(statuses.map(\.phase) == [.registered])
        #expect(first.requests.count == 1)
        running.cancel()
        await running.value
    }

    @Test func `register sends a changed device although run fails with the earlier one`() async throws {
        let client = try await client()
        try await registerCancelled(client)
        network.time.hold()
        network.loseReplies(of: first)
        let running = Task { await client.run() }
        await network.time.sleeper(dueIn: PollRhythm.first)
        var changed = device
        changed.deviceToken = "changed"
        let registering = Task { [changed] in try await client.register(changed, with: [first.identity]) }
        let statuses = try await network.time.pass { try await registering.value }
        #expect(statuses.map(\.phase) == [.registered])
        #expect(try stored(first).deviceToken == "changed")
        running.cancel()
        await running.value
    }

    @Test func `a cancelled register during run throws CancellationError, and a register during a cancelled run sends itself`() async throws
    {
        let client = try await client()
        try await registerCancelled(client)
        network.time.hold()
        network.loseReplies(of: first)
        let running = Task { await client.run() }
        await network.time.sleeper(dueIn: PollRhythm.first)
        let cancelled = Task { try await client.register(device, with: [first.identity]) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let registering = Task { try await client.register(device, with: [first.identity]) }
        running.cancel()
        await running.value
        let statuses = try await network.time.pass { try await registering.value }
        #expect(statuses.map(\.phase) == [.registered])
    }

    // MARK: Restarts

    @Test func `the state file keeps the complete state, and only its owner may read it`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("state.sqlite")
        var device = device
        device.blockedAuthors = [PushClient.PublicKey(PrivateKey.test(9).publicKey)]
        network.loseReplies(of: second)
        let installationID: String
        do {
            let client = try await client(try FileState(path: path))
            _ = try await client.register(device, with: both)
            installationID = await client.installationID
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)

        let client = try await client(try FileState(path: path))
        #expect(await client.installationID == installationID)
        #expect(await client.statuses.map(\.phase) == [.registered, .registering])
        #expect(try await client.register(device, with: both).map(\.phase) == [.registered, .registered])
        #expect(first.requests.count == 1 && second.requests.count == 2)
        #expect(try stored(first).accessToken == stored(second).accessToken)
    }

    @Test func `two installations of one identity in one file are kept apart; the newest one is the default`() async throws {
        let state = MemoryState()
        func client(_ installationID: String?) async throws -> RegisteringClient {
            try await RegisteringClient(
                identity: identity, anyInstallationID: installationID, node: network.node, state: state, advertisingInterval: nil)
        }
        for installationID in ["phone", "tablet"] {
            _ = try await client(installationID).register(device, with: [first.identity])
        }
        let (phone, tablet) = (try await client("phone"), try await client("tablet"))
        let tokens = [await phone.accessToken, await tablet.accessToken].compactMap(\.self)
        #expect(Set(tokens).count == 2)
        #expect(try await client(nil).installationID == "tablet")
        _ = try await phone.register(device, with: [first.identity])
        #expect(first.requests.count == 2 && first.registrations.count == 2)
    }

    // MARK: Checks before sending

    @Test(arguments: ["phone", "", "c6ae4fde-bb65-11ea-b3de"]) func `an installation id that is not a UUID is an error`(id: String) async {
        let error = await #expect(throws: PushClientError.self) {
            try await RegisteringClient(identity: identity, installationID: id, node: network.node, state: MemoryState())
        }
        #expect(error?.code == .invalidRegistration)
        let whole = "c6ae4fde-bb65-11ea-b3de-0242ac130004"
        await #expect(throws: Never.self) {
            try await RegisteringClient(identity: identity, installationID: whole, node: network.node, state: MemoryState())
        }
    }

    @Test func `a device that servers refuse is an error before anything is sent or saved`() async throws {
        let devices = [
            Device(apnsToken: Data(repeating: 1, count: 31), bundleID: "org.example"), Device(firebaseToken: ""),
            Device(apnsToken: Data(repeating: 1, count: 32), bundleID: ""), Device(firebaseToken: String(repeating: "a", count: 4_097)),
        ]
        let client = try await client()
        for device in devices {
            let error = await #expect(throws: PushClientError.self) { try await client.register(device, with: both) }
            #expect(error?.code == .invalidRegistration)
        }
        #expect(await client.statuses.isEmpty && network.envelopes.isEmpty)
        let accepted = [
            Device(apnsToken: Data(repeating: 1, count: 32), bundleID: "o"), Device(firebaseToken: "a"),
            Device(firebaseToken: String(repeating: "a", count: 4_096)),
        ]
        for device in accepted {
            #expect(try await client.register(device, with: both).map(\.phase) == [.registered, .registered])
        }
    }

    @Test func `an APNs token of any bytes reaches the server as hex digits`() async throws {
        let device = Device(apnsToken: Data([0x0f] + [UInt8](repeating: 0xab, count: 31)), bundleID: "org.example")
        _ = try await client().register(device, with: [first.identity])
        #expect(try stored(first).deviceToken.text == "0f" + String(repeating: "ab", count: 31))
        #expect(try stored(first).apnTopic == "org.example")
    }

    // MARK: Large registrations

    @Test func `a registration longer than the node's limit is sent in segments`() async throws {
        let node = network.time.node(network, segmenter: Segmenter(maximumMessageByteCount: 4_096))
        let client = try await RegisteringClient(identity: identity, node: node, state: MemoryState(), advertisingInterval: nil)
        var device = device
        device.mutedChats = Set((0..<1_000).map { ChatID("\($0)") })
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(try stored(first).mutedChatList.count == 1_000)
        #expect(network.envelopes.count > 20)
    }
}
