import Bytes
import Envelope
import Foundation
import PushClient
import PushClientFileState
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

/// Several clients over one state, and states of earlier versions.
@Suite(.safetyNet)
struct SharedStateTests {
    private let network = FakeNetwork()
    private let alice = Identity(.test(7))
    private let device = Device(deviceToken: "token", service: .firebase)
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }

    private func client(_ state: any ClientState) async throws -> RegisteringClient {
        try await RegisteringClient(identity: alice, node: network.node, state: state, advertisingInterval: nil)
    }

    private func device(_ token: String) -> PushClient.Device { Device(deviceToken: token, service: .firebase) }

    @Test func `an app and its extension that start together agree on one installation`() async throws {
        let state = MemoryState()
        let (app, helper) = (try await client(state), try await client(state))
        #expect(try await app.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(try await helper.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(await app.installationID == helper.installationID)
        #expect(first.registrations.count == 1 && first.requests.count == 1)
    }

    @Test func `each client goes on from what another one over the same file has registered`() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("state.sqlite")
        let app = try await client(try FileState(path: path))
        _ = try await app.register(device("a"), with: [first.identity])
        let helper = try await client(try FileState(path: path))
        _ = try await helper.register(device("b"), with: [first.identity, second.identity])
        // The app's own plan still has the first device: the same call must send it.
        _ = try await app.register(device("a"), with: [first.identity, second.identity])
        #expect((first.registrations + second.registrations).map(\.deviceToken) == ["a", "a"])
        #expect(await app.accessToken == helper.accessToken)
        _ = try await helper.register(device("b"), with: [second.identity])
        #expect(first.registrations.isEmpty && second.registrations.map(\.deviceToken) == ["b"])
        // No request had a version that the server had seen: the servers know no mismatch.
        #expect(await helper.statuses.map(\.failureCount) == [0])
    }

    @Test func `a client keeps its installation although one with another id has registered over the same state since`() async throws {
        let state = MemoryState()
        let app = try await client(state)
        _ = try await app.register(device("a"), with: [first.identity])
        let own = await app.installationID
        let other = try await RegisteringClient(
            identity: alice, installationID: "c6ae4fde-bb65-11ea-b3de-0242ac130004", node: network.node, state: state,
            advertisingInterval: nil)
        _ = try await other.register(device("b"), with: [first.identity])
        _ = try await app.register(device("c"), with: [first.identity])
        #expect(await app.installationID == own)
        #expect(Set(first.registrations.map(\.deviceToken)) == ["b", "c"])
    }

    @Test func `clients that register at the same time do not lose a server`() async throws {
        let state = MemoryState()
        let (app, helper) = (try await client(state), try await client(state))
        network.time.hold()
        let calls = [app, helper].map { client in
            Task { try await client.register(device, with: [first.identity, second.identity]) }
        }
        for call in calls { #expect(try await network.time.pass { try await call.value }.count == 2) }
        #expect(first.registrations.count == 1 && second.registrations.count == 1)
        let tokens = (first.registrations + second.registrations).map(\.accessToken.text)
        let last = try await client(state)
        let token = await last.accessToken
        #expect(tokens.allSatisfy { $0 == token })
    }

    @Test(arguments: [false, true]) func `an app and its extension that wake together renew once`(isKilled: Bool) async throws {
        let state = MemoryState()
        let (app, helper) = (try await client(state), try await client(state))
        for client in [app, helper] { _ = try await client.register(device, with: [first.identity]) }
        network.clock.advance(by: .seconds(7 * 24 * 60 * 60))
        network.time.hold()
        network.loseReplies(of: first)
        let call = Task { try await app.register(device, with: [first.identity]) }
        await network.time.sleeper(dueIn: PollRhythm.first)
        #expect(try await helper.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(first.requests.count == 2)
        if isKilled {
            // Nobody records that the reply did not come. The other one renews after a minute.
            call.cancel()
            _ = await call.result
            network.clock.advance(by: .seconds(60))
        } else {
            // The app records it, and whoever wakes next renews.
            #expect(try await network.time.pass { try await call.value }.first?.error?.code == .noReply)
        }
        let renewed = try await network.time.pass { try await helper.register(device, with: [first.identity]) }
        #expect(renewed.first?.error == nil && first.requests.count == 3)
    }

    @Test func `a client whose reply is lost learns from the state that another one has registered the device`() async throws {
        let state = MemoryState()
        let (app, helper) = (try await client(state), try await client(state))
        var events = app.events().makeAsyncIterator()
        network.time.hold()
        network.loseReplies(of: first)
        let start = network.time.now
        let call = Task { try await app.register(device, with: [first.identity]) }
        await network.time.sleeper(dueIn: PollRhythm.first)
        let helperStatuses = try await network.time.pass { try await helper.register(device, with: [first.identity]) }
        #expect(helperStatuses.map(\.phase) == [.registered])
        #expect(try await network.time.pass { try await call.value }.map(\.phase) == [.registered])
        #expect(await events.next()?.kind == .registered)
        // The reply would have been missed after ten seconds.
        #expect(start.duration(to: network.time.now) <= PollRhythm.last * 8)
        #expect(first.registrations.count == 1)
    }

    @Test func `the default replacement saves only over the expected value`() async throws {
        struct Plain: ClientState {
            let memory = MemoryState()
            func value(named name: String) async throws -> Data? { await memory.value(named: name) }
            func save(_ value: Data, named name: String) async throws { await memory.save(value, named: name) }
        }
        let folder = try TemporaryFolder()
        let files: [any ClientState] = [try FileState(path: folder.path("sqlite")), try JSONFileState(path: folder.path("json"))]
        for state in [Plain(), MemoryState()] + files {
            #expect(try await state.replace(nil, by: Data([1]), named: "a"))
            #expect(try await !state.replace(nil, by: Data([2]), named: "a"))
            #expect(try await !state.replace(Data([2]), by: Data([3]), named: "a"))
            #expect(try await state.value(named: "a") == Data([1]))
            #expect(try await state.replace(Data([1]), by: Data([4]), named: "a"))
            #expect(try await state.value(named: "a") == Data([4]))
        }
    }

    @Test(arguments: [Int.max, .min]) func `a state with extreme counts is used`(count: Int) async throws {
        let state = MemoryState()
        _ = try await client(state).register(device, with: [first.identity])
        let name = "registration/\(alice.publicKey.compressedHex)/\(try await client(state).installationID)"
        let saved = String(decoding: try #require(await state.value(named: name)), as: UTF8.self)
        let changed = saved.replacing(#/"(generation|confirmedGeneration|failureCount|mismatchCount)":\d+/#) { "\"\($0.1)\":\(count)" }
        #expect(changed != saved)
        await state.save(Data(changed.utf8), named: name)
        first.fault = .isSilent
        #expect(try await client(state).register(device("b"), with: [first.identity]).count == 1)
        first.fault = nil
        #expect(try await client(state).register(device("c"), with: [first.identity]).map(\.phase) == [.registered])
    }

    @Test func `a state of version 0.2.0 is read: nothing is registered or looked up again`() async throws {
        let state = MemoryState()
        let (installation, token) = ("b6ae4fde-bb65-11ea-b3de-0242ac130004", "724919d2-065b-4865-b02d-a573f40342c8")
        let (owner, now) = (alice.publicKey.compressedHex, TestClock.start.nanoseconds)
        let version = now / 1_000_000 - 1
        // As version 0.2.0 wrote it, with this test's server and time: an advertised device, and a lookup that was incomplete once.
        let plan = """
            {"version":\(version),"installationID":"\(installation)","generation":1,"device":{"mentionChats":[],"service":{"code":2},\
            "contacts":[],"blockedAuthors":[],"isEnabled":true,"blockedChats":[],"blocksMentions":false,"isForContactsOnly":false,\
            "deviceToken":"token","mutedChats":[]},"entries":[{"isWanted":true,"confirmedGeneration":1,"failureCount":0,\
            "confirmedVersion":\(version),"mismatchCount":0,"server":"\(first.identity.hex)","isTold":true}],"accessToken":"\(token)",\
            "advertisement":{"servers":[{"server":"\(first.identity.hex)","version":\(version)}],"accessToken":"\(token)","time":\(now)}}
            """
        let devices = """
            {"incompleteCount":0,"devices":[{"accessToken":"\(token)","version":\(version),"authorization":"verified",\
            "installationID":"\(installation)","encryptedTokenCount":0,"server":"\(first.identity.hex)"}],"learnedAt":\(now)}
            """
        await state.save(Data(plan.utf8), named: "registration/\(owner)/\(installation)")
        await state.save(Data("\"\(installation)\"".utf8), named: "registration/\(owner)")
        await state.save(Data(devices.utf8), named: "devices/anyone/\(owner)")

        let client = try await RegisteringClient(identity: alice, node: network.node, state: state)
        #expect(await client.installationID == installation)
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        let sender = SendingClient(node: network.node, state: state)
        #expect(try await sender.devices(of: alice.publicKey).map(\.accessToken) == [token])
        #expect(network.envelopes.isEmpty)
    }

    @Test func `a state of version 0.1.0 is read: nothing is registered or looked up again`() async throws {
        let state = MemoryState()
        let (installation, token) = ("b6ae4fde-bb65-11ea-b3de-0242ac130004", "724919d2-065b-4865-b02d-a573f40342c8")
        let (owner, version) = (alice.publicKey.compressedHex, TestClock.start.nanoseconds / 1_000_000 - 1)
        // As pushctl 0.1.0 wrote it, with this test's server and time. Version 0.1.0 also saved contacts of a device for anyone.
        let plan = """
            {"version":\(version),"installationID":"\(installation)","generation":1,"device":{"mentionChats":[],"service":{"code":2},\
            "contacts":["\(first.identity.hex)"],"blockedAuthors":[],"isEnabled":true,"blockedChats":[],"blocksMentions":false,\
            "isForContactsOnly":false,"deviceToken":"token","mutedChats":["noise"]},"entries":[{"isWanted":true,"confirmedGeneration":1,\
            "failureCount":0,"confirmedVersion":\(version),"mismatchCount":0,"server":"\(first.identity.hex)","isTold":true}],\
            "accessToken":"\(token)"}
            """
        let devices = """
            {"devices":[{"accessToken":"\(token)","version":\(version),"authorization":"verified","installationID":"\(installation)",\
            "encryptedTokenCount":0,"server":"\(first.identity.hex)"}],"learnedAt":\(TestClock.start.nanoseconds)}
            """
        await state.save(Data(plan.utf8), named: "registration/\(owner)/\(installation)")
        await state.save(Data("\"\(installation)\"".utf8), named: "registration/\(owner)")
        await state.save(Data(devices.utf8), named: "devices/anyone/\(owner)")

        let client = try await client(state)
        var device = device
        device.mutedChats = [ChatID("noise")]
        #expect(await client.installationID == installation)
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        let sender = SendingClient(node: network.node, state: state)
        #expect(try await sender.devices(of: alice.publicKey).map(\.accessToken) == [token])
        #expect(network.envelopes.isEmpty)
        device.audience = .contacts([Identity(.test(8)).publicKey])
        _ = try await client.register(device, with: [first.identity])
        #expect(first.registrations.map(\.version).allSatisfy { $0 > version } && first.registrations.count == 1)
    }
}
