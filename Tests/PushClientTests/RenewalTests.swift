import Bytes
import Envelope
import Foundation
import PushClientTesting
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import PushClient

/// Registrations that a server loses, and states that a backup has copied.
@Suite(.safetyNet)
struct RenewalTests {
    private let network = FakeNetwork(serverCount: 1)
    private let alice = Identity(.test(7))
    private let device = Device(firebaseToken: "token")
    private var server: FakeServer { network.servers[0] }
    private let week = Duration.seconds(7 * 24 * 60 * 60)

    private func client(_ state: any ClientState = MemoryState()) async throws -> RegisteringClient {
        try await RegisteringClient(identity: alice, node: network.node, state: state, advertisingInterval: nil)
    }

    private func register(_ client: RegisteringClient, _ token: String = "token") async throws -> ServerStatus? {
        try await client.register(Device(firebaseToken: token), with: [server.identity]).first
    }

    // MARK: Renewals

    @Test func `a registration that the server lost is there again within a week of run`() async throws {
        let client = try await client()
        _ = try await register(client)
        let token = await client.accessToken
        server.forgetRegistrations()
        let start = network.clock.now
        network.clock.hold()
        let running = Task { await client.run() }
        await network.clock.pass { await server.waitForRegistrations(count: 1) }
        running.cancel()
        await running.value
        #expect(start.duration(to: network.clock.now) <= week)
        #expect(server.registrations.map(\.accessToken.text) == [token])
    }

    @Test func `register renews a registration that is a week old, with a higher version and the same token`() async throws {
        let client = try await client()
        let first = try #require(try await register(client))
        network.clock.advance(by: week - .seconds(1))
        #expect(try await register(client) == first && server.requests.count == 1)
        network.clock.advance(by: .seconds(1))
        let renewed = try #require(try await register(client))
        #expect(renewed.phase == .registered && renewed.version.map { $0 > first.version ?? .max } == true)
        #expect(try await register(client) == renewed && server.requests.count == 2)
        let token = await client.accessToken
        #expect(server.registrations.map(\.accessToken.text) == [token])
        // The status says since when it is confirmed.
        let age = try #require(renewed.confirmedAt).timeIntervalSince(try #require(first.confirmedAt))
        #expect(age == 7 * 24 * 60 * 60)
    }

    @Test func `a confirmation from the future counts as old, once`() async throws {
        let client = try await client()
        network.clock.advance(by: .seconds(60 * 60))
        _ = try await register(client)
        network.clock.advance(by: .seconds(-60 * 60))
        for _ in 1...3 { #expect(try await register(client)?.phase == .registered) }
        #expect(server.requests.count == 2)
    }

    @Test func `a renewal that fails leaves the device registered and tells why, and is repeated`() async throws {
        let client = try await client()
        let before = try #require(try await register(client))
        network.clock.advance(by: week)
        server.isSilent = true
        let failed = try #require(try await register(client))
        #expect(failed.phase == .registered && failed.error?.code == .noReply && failed.confirmedAt == before.confirmedAt)
        server.isSilent = false
        let renewed = try #require(try await register(client))
        #expect(renewed.error == nil && renewed.confirmedAt != before.confirmedAt)
    }

    // MARK: Copied states

    /// A copy of a state's values, as a backup has them.
    private func copy(_ state: MemoryState) async throws -> MemoryState {
        let copy = MemoryState()
        let installation = "registration/\(alice.publicKey.compressedHex)"
        for name in [installation, "\(installation)/\(try await client(state).installationID)"] {
            await copy.save(try #require(await state.value(named: name)), named: name)
        }
        return copy
    }

    @Test func `a device whose state was copied is told, and takes nothing back until it changes`() async throws {
        let state = MemoryState()
        _ = try await register(client(state))
        let restored = try await client(copy(state))
        #expect(try await register(restored, "new phone")?.phase == .registered)

        let old = try await client(state)
        for _ in 1...3 {
            network.clock.advance(by: week)
            let told = try #require(try await register(old))
            #expect(told.phase == .rejected(.versionMismatch) && told.error?.code == .stateCopied)
            #expect(server.registrations.map(\.deviceToken) == ["new phone"])
            #expect(try await register(restored, "new phone")?.phase == .registered)
        }
        #expect(server.requests.count == 8)
        #expect(try await register(old, "old phone")?.phase == .registered)
        #expect(server.registrations.map(\.deviceToken) == ["old phone"])
    }

    @Test func `run tells of a copied state once, and sends nothing more`() async throws {
        let state = MemoryState()
        let old = try await client(state)
        _ = try await register(old)
        _ = try await register(client(copy(state)), "new phone")
        let events = old.events()
        network.clock.hold()
        let running = Task { await old.run() }
        let stopped = await network.clock.pass { await events.first { $0.kind == .stopped } }
        #expect(stopped?.error == .stateCopied)
        let requestCount = server.requests.count
        await network.clock.pass(for: week * 4)
        running.cancel()
        await running.value
        #expect(server.requests.count == requestCount)
    }

    @Test func `a marked device whose own state went back takes its registration back`() async throws {
        let memory = MemoryState()
        let state = MarkedState(memory: memory, deviceMark: "phone")
        _ = try await register(client(state))
        let backup = try await copy(memory)
        network.clock.advance(by: .seconds(3_000))
        _ = try await register(client(state), "changed")
        network.clock.advance(by: week)
        let restored = try await client(MarkedState(memory: backup, deviceMark: "phone"))
        #expect(try await register(restored)?.phase == .registered)
        #expect(server.registrations.map(\.deviceToken) == ["token"])
    }

    // MARK: Lost states

    @Test func `a device with a mark that lost its state takes its registration over, and one without does not`() async throws {
        var ids: [String] = []
        for mark in ["phone", "phone", "tablet", nil, nil] {
            let client = try await client(MarkedState(memory: MemoryState(), deviceMark: mark))
            #expect(try await register(client, mark ?? "unmarked")?.phase == .registered)
            ids.append(await client.installationID)
        }
        #expect(ids[0] == ids[1] && Set(ids).count == 4)
        #expect(server.registrations.map(\.deviceToken.text).sorted() == ["phone", "tablet", "unmarked", "unmarked"])
        // The same mark shows nobody that two keys are on one device.
        let other = try await RegisteringClient(
            identity: Identity(.test(8)), node: network.node, state: MarkedState(memory: MemoryState(), deviceMark: "phone"))
        #expect(await !ids.contains(other.installationID))
    }

    @Test func `a lost state takes over although the lost one's clock was ahead`() async throws {
        network.clock.advance(by: .seconds(10 * 24 * 60 * 60))
        _ = try await register(client(MarkedState(memory: MemoryState(), deviceMark: "phone")))
        network.clock.advance(by: .seconds(-10 * 24 * 60 * 60))
        let after = try await client(MarkedState(memory: MemoryState(), deviceMark: "phone"))
        #expect(try await register(after, "after")?.phase == .registered)
        #expect(server.registrations.map(\.deviceToken) == ["after"])
    }

    // MARK: Long failures

    @Test func `a phone that is offline for three days is registered within half an hour of its return`() async throws {
        let client = try await client()
        network.setDown(true)
        let status = try await register(client)
        #expect(status?.phase == .registering && status?.error?.code == .nodeUnreachable)
        network.clock.hold()
        let running = Task { await client.run() }
        await network.clock.pass(for: .seconds(3 * 24 * 60 * 60))
        network.setDown(false)
        let start = network.clock.now
        let events = client.events()
        let event = await network.clock.pass { await events.first { $0.kind == .registered } }
        running.cancel()
        await running.value
        #expect(event != nil && start.duration(to: network.clock.now) <= .seconds(30 * 60))
        let statuses = await client.statuses
        #expect(statuses.map(\.phase) == [.registered] && statuses.map(\.error) == [nil])
    }

    @Test func `a phone is registered at once when another client reaches the node again`() async throws {
        let node = network.node
        let client = try await RegisteringClient(identity: alice, node: node, state: MemoryState(), advertisingInterval: nil)
        network.setDown(true)
        _ = try await register(client)
        network.clock.hold()
        let running = Task { await client.run() }
        await network.clock.pass(for: .seconds(24 * 60 * 60))
        network.setDown(false)
        let start = network.clock.now
        // The server does not know the owner, and is silent.
        let asking = Task { try await PushServer(server.identity, node: node).query(.key(alice.publicKey)) }
        await OpenWaits.during("a registration") { await server.waitForRegistrations(count: 1) }
        asking.cancel()
        running.cancel()
        await running.value
        #expect(network.clock.now == start)
    }

    @Test func `a silent server is tried ever more seldom, and has the device a day after its return`() async throws {
        let client = try await client()
        server.isSilent = true
        _ = try await register(client)
        network.clock.hold()
        let running = Task { await client.run() }
        await network.clock.pass(for: .seconds(60 * 24 * 60 * 60))
        let requestCount = server.requests.count
        #expect((60...150).contains(requestCount))
        server.isSilent = false
        server.forgetRegistrations()
        let start = network.clock.now
        await network.clock.pass { await server.waitForRegistrations(count: 1) }
        running.cancel()
        await running.value
        #expect(start.duration(to: network.clock.now) <= .seconds(24 * 60 * 60))
    }

    @Test func `a state of version 0_3_0 that gave up goes on`() async throws {
        let state = MemoryState()
        server.isSilent = true
        let client = try await client(state)
        _ = try await register(client)
        let name = "registration/\(alice.publicKey.compressedHex)/\(await client.installationID)"
        let saved = String(decoding: try #require(await state.value(named: name)), as: UTF8.self)
        let old = saved.replacing(#""isTold":true"#, with: #""isTold":true,"stop":{"gaveUp":{}}"#)
        #expect(old != saved)
        await state.save(Data(old.utf8), named: name)
        server.isSilent = false
        server.forgetRegistrations()
        network.clock.hold()
        let later = try await self.client(state)
        let running = Task { await later.run() }
        await network.clock.pass(for: .seconds(24 * 60 * 60))
        #expect(server.registrationCount == 1)
        running.cancel()
        await running.value
    }

    // MARK: Reasons

    @Test func `register says why a device is not registered, and forgets it after a success`() async throws {
        let missing = PushClientError.nodeRejected(status: 404, text: "not found")
        let node = network.node { function, _ in function == .publish ? .fails(missing) : nil }
        let client = try await RegisteringClient(identity: alice, node: node, state: MemoryState(), advertisingInterval: nil)
        let status = try #require(try await register(client))
        #expect(status.phase == .registering && status.error == missing)
        let key = server.identity.compressedHex
        #expect("\(status)" == "\(key): registering (The node rejected the request with status 404: not found)")

        let other = try await self.client()
        server.refuseRegistrations(with: .malformedMessage)
        #expect(try await register(other)?.error == .registrationRejected(.malformedMessage))
        let registered = try #require(try await register(other))
        #expect(registered.error == nil && "\(registered)" == "\(key): registered")
    }
}

/// A state on a device with this mark.
struct MarkedState: ClientState {
    let memory: MemoryState
    let deviceMark: String?

    func value(named name: String) async throws -> Data? { await memory.value(named: name) }
    func save(_ value: Data, named name: String) async throws { await memory.save(value, named: name) }
    func replace(_ old: Data?, by new: Data, named name: String) async throws -> Bool {
        await memory.replace(old, by: new, named: name)
    }
}
