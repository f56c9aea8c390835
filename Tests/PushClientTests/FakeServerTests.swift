import Bytes
import PushClient
import PushClientTesting
import PushPayload
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The server of PushClientTesting, as an app's tests use it.
@Suite(.safetyNet)
struct FakeServerTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity.generate()
    private let device = Device(firebaseToken: "token")
    private var server: FakeServer { network.servers[0] }

    private func phone() async throws -> RegisteringClient {
        try await RegisteringClient(identity: alice, node: network.node, state: MemoryState())
    }

    private func push(_ messageID: [UInt8]) async throws -> [DeliveryReport.Outcome] {
        let sender = SendingClient(node: network.node, state: MemoryState())
        return try await sender.push(PushMessage(kind: .message, messageID: messageID), to: [Recipient(alice.publicKey)]).map(\.outcome)
    }

    @Test func `a message notifies a device once in ten minutes, however often it is sent`() async throws {
        _ = try await phone().register(device, with: [server.identity])
        for _ in 1...2 { #expect(try await push([1]) == [.accepted(by: server.identity)]) }
        #expect(server.deliveredPushes.count == 1)
        _ = try await push([2])
        #expect(server.deliveredPushes.count == 2)
        network.clock.advance(by: ProtocolLimits.deduplicationLifetime)
        _ = try await push([1])
        #expect(server.deliveredPushes.count == 3)
    }

    @Test func `an older installation with the same device does not ring, whatever its settings`() async throws {
        _ = try await phone().register(device, with: [server.identity])
        let newer = try await phone()
        var device = device
        device.mutedChats = [ChatID("noise")]
        _ = try await newer.register(device, with: [server.identity])
        #expect(server.registrationCount == 2)
        let sender = SendingClient(node: network.node, state: MemoryState())
        for (number, chat) in ["noise", "family"].enumerated() {
            var message = PushMessage(kind: .message, messageID: [UInt8(number)])
            message.chat = ChatID(chat)
            let reports = try await sender.push(message, to: [Recipient(alice.publicKey)])
            #expect(reports.map(\.outcome) == Array(repeating: .accepted(by: server.identity), count: 2))
        }
        let id = await newer.installationID
        #expect(server.deliveredPushes.map(\.installationID) == [id])
    }

    @Test func `a request that the network repeats is answered again and delivered once, however late`() async throws {
        _ = try await phone().register(device, with: [server.identity])
        let target = PushDevice(
            owner: .key(alice.publicKey), installationID: server.registrations[0].installationID,
            accessToken: server.registrations[0].accessToken.text)
        let count = network.envelopes.count
        let message = PushMessage(kind: .message, messageID: [1])
        #expect(try await PushServer(server.identity, node: network.node).push(message, to: [target]).map(\.outcome) == [.accepted])
        #expect(network.envelopes.count == count + 2)
        network.clock.advance(by: ProtocolLimits.deduplicationLifetime)
        try await network.publish(network.envelopes[count])
        #expect(network.envelopes.count == count + 4 && server.deliveredPushes.count == 1)
    }

    @Test(arguments: [
        (RegistrationRejection.malformedMessage, ServerStatus.Phase.rejected(.malformedMessage)), (.internalError, .registering),
        (.versionMismatch, .registered), (RegistrationRejection(rawValue: 99), .registering),
    ])
    func `a test chooses how registrations are refused`(rejection: RegistrationRejection, phase: ServerStatus.Phase) async throws {
        server.refuseRegistrations(with: rejection)
        #expect(try await phone().register(device, with: [server.identity]).map(\.phase) == [phase])
        #expect(server.registrationCount == (phase == .registered ? 1 : 0))
    }

    @Test func `a test chooses how pushes are refused`() async throws {
        _ = try await phone().register(device, with: [server.identity])
        server.refusePushes(with: .wrongToken, count: 2)
        #expect(try await push([1]) == [.rejected(.wrongToken)])
        server.refusePushes(with: .internalError)
        #expect(try await push([2]) == [.accepted(by: server.identity)])
        server.refusePushes(with: .accepted)
        #expect(try await push([3]) == [.accepted(by: server.identity)])
        #expect(server.deliveredPushes.count == 2)
    }

    // MARK: The clock

    @MainActor @Test func `time passes in a test on the main actor`() async throws {
        var statuses: [ServerStatus] = []
        server.isSilent = true
        network.clock.hold()
        let client = try await phone()
        try await network.clock.pass { statuses = try await client.register(device, with: [server.identity]) }
        #expect(statuses.map(\.phase) == [.registering])
    }

    @Test func `a call that waits for a held clock ends with an error that names it`() async throws {
        let patience = TestClock()
        patience.hold()
        let network = FakeNetwork(serverCount: 1, clock: TestClock(patience: patience))
        let server = network.servers[0]
        let client = try await RegisteringClient(identity: alice, node: network.node, state: MemoryState(), advertisingInterval: nil)
        server.isSilent = true
        network.clock.hold()
        let running = Task { await client.run() }
        let call = Task { [device] in try await client.register(device, with: [server.identity]) }
        await patience.sleeper(dueIn: TestClock.patience)
        await network.clock.sleeper(dueIn: PollRhythm.first)
        patience.advance(by: TestClock.patience)
        let error = await #expect(throws: TimeStandsStill.self) { try await call.value }
        #expect(error?.call == "register(_:with:)" && error?.description.hasPrefix("register(_:with:) waits for a held clock") == true)
        running.cancel()
        await running.value
    }

    @Test func `a call whose time passes does not end, and a released clock passes by itself`() async throws {
        let patience = TestClock()
        patience.hold()
        let network = FakeNetwork(serverCount: 1, clock: TestClock(patience: patience))
        let server = network.servers[0]
        let client = try await RegisteringClient(identity: alice, node: network.node, state: MemoryState(), advertisingInterval: nil)
        server.isSilent = true
        network.clock.hold()
        let call = Task { [device] in try await client.register(device, with: [server.identity]) }
        await patience.sleeper(dueIn: TestClock.patience)
        await network.clock.sleeper(dueIn: PollRhythm.first)
        network.clock.advance(by: PollRhythm.first)
        patience.advance(by: TestClock.patience)
        await patience.sleeper(dueIn: TestClock.patience)
        network.clock.release()
        #expect(try await call.value.map(\.phase) == [.registering])
        #expect(try await client.register(device, with: [server.identity]).map(\.phase) == [.registering])
    }
}
