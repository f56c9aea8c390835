import Bytes
import Envelope
import Foundation
import PushClientTesting
import StatusCrypto
import Synchronization
import Tasks
import TestSupport
import Testing
import Wire

@testable import PushClient

/// A node and a state whose functions do not return.
@Suite(.safetyNet)
struct CallLimitTests {
    private let network = FakeNetwork()
    private let alice = Identity(.test(7))
    private let device = Device(deviceToken: "token", service: .firebase)
    private let hang = Hang()
    private var first: FakeServer { network.servers[0] }
    private var second: FakeServer { network.servers[1] }
    private var limits: HeldClock { network.time.limits }

    private func client(_ node: Node, _ state: any ClientState = MemoryState()) async throws -> RegisteringClient {
        try await RegisteringClient(identity: alice, node: node, state: state, advertisingInterval: nil)
    }

    /// Returns a function that reports the fault for the first call only.
    private func onFirst(
        _ function: StubbornTransport.Function, _ fault: StubbornTransport.Fault
    ) -> @Sendable (StubbornTransport.Function, Set<String>) -> StubbornTransport.Fault? {
        let hasFailed = Mutex(false)
        return { called, _ in
            guard called == function else { return nil }
            return hasFailed.withLock { hasFailed in
                defer { hasFailed = true }
                return hasFailed ? nil : fault
            }
        }
    }

    @Test func `a publish that never returns is abandoned after 30 s, and the next one registers the device`() async throws {
        defer { hang.release() }
        let client = try await client(network.node(fault: onFirst(.publish, .hangsBefore(hang))))
        var events = client.events().makeAsyncIterator()
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await limits.sleepers(dueIn: .seconds(30))
        limits.advance(by: .seconds(30))
        #expect(try await registering.value.map(\.phase) == [.registering])
        #expect(await events.next()?.error == .nodeUnreachable(reason: "publish did not return within 30 s"))
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
    }

    @Test func `the reply to an abandoned publish counts, and its late return changes nothing`() async throws {
        let client = try await client(network.node(fault: onFirst(.publish, .hangsAfter(hang))))
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await limits.sleepers(dueIn: .seconds(30))
        limits.advance(by: .seconds(30))
        #expect(try await registering.value.map(\.phase) == [.registered])
        hang.release()
        #expect(try await client.register(device, with: [first.identity]).map(\.phase) == [.registered])
        #expect(first.requests.count == 1)
    }

    @Test(arguments: [(StubbornTransport.Function.subscribe, 10), (.history, 20)])
    func `a subscription or history that never returns ends after its limit`(function: StubbornTransport.Function, limit: Int) async throws
    {
        defer { hang.release() }
        let node = network.node(fault: onFirst(function, .hangsBefore(hang)))
        let server = PushServer(first.identity, node: node)
        let registering = Task { try await server.register(device, installationID: "phone", as: alice) }
        await limits.sleepers(dueIn: .seconds(limit))
        limits.advance(by: .seconds(limit))
        if function == .subscribe {
            let expected = PushClientError.nodeUnreachable(reason: "subscribe did not return within 10 s")
            await #expect(throws: expected) { try await registering.value }
            #expect(first.requests.isEmpty)
        } else {
            // The subscription brings the reply.
            _ = try await registering.value
        }
        network.time.advance(by: .seconds(1))
        _ = try await server.register(device, installationID: "phone", as: alice)
    }

    @Test func `a request at a node that hangs in each call ends 30 s after its time-out`() async throws {
        defer { hang.release() }
        let server = PushServer(first.identity, node: network.node { function, _ in function == .subscribe ? nil : .hangsBefore(hang) })
        let query = Task { try await server.query(.key(alice.publicKey)) }
        for seconds in [20, 20] {
            await limits.sleepers(dueIn: .seconds(seconds))
            limits.advance(by: .seconds(seconds))
        }
        let expected = PushClientError.nodeUnreachable(reason: "publish did not return within 20 s")
        await #expect(throws: expected) { try await query.value }
    }

    @Test func `after four abandoned calls, further ones fail immediately until one returns`() async throws {
        let node = network.node { function, _ in function == .subscribe ? .hangsBefore(hang) : nil }
        let server = PushServer(first.identity, node: node)
        for number in 1...4 {
            let query = Task { try await server.query(.key(alice.publicKey)) }
            await hang.calls(number)
            await limits.sleepers(dueIn: .seconds(10))
            limits.advance(by: .seconds(10))
            await #expect(throws: PushClientError.self) { try await query.value }
        }
        let busy = PushClientError.nodeUnreachable(reason: "earlier calls of the node have not returned")
        await #expect(throws: busy) { try await server.query(.key(alice.publicKey)) }
        #expect(hang.count == 4)
        hang.release()
        await node.exchange.calls.waitForAbandonedCalls()
        await #expect(throws: PushClientError.noReply(after: PushServer.defaultTimeout)) { try await server.query(.key(alice.publicKey)) }
    }

    @Test func `a cancelled call returns immediately although the node ignores the cancellation`() async throws {
        defer { hang.release() }
        let client = try await client(network.node { function, _ in function == .publish ? .hangsBefore(hang) : nil })
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await hang.calls(1)
        registering.cancel()
        await #expect(throws: CancellationError.self) { try await registering.value }
    }

    @Test func `a server whose requests hang does not delay the registration with another one`() async throws {
        defer { hang.release() }
        let topic = TopicName.personal(first.key.publicKey).topic.contentTopic
        let client = try await client(
            network.node { function, topics in function == .publish && topics == [topic] ? .hangsBefore(hang) : nil })
        let events = client.events()
        let registering = Task { try await client.register(device, with: network.servers.map(\.identity)) }
        for await event in events where event.kind == .registered {
            #expect(event.server == second.identity)
            break
        }
        limits.advance(by: .seconds(30))
        #expect(try await registering.value.map(\.phase) == [.registering, .registered])
    }

    @Test func `register returns 90 s after its time-out at the latest, and run finishes it`() async throws {
        network.time.hold()
        first.fault = .isSilent
        let client = try await client(network.node)
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await network.time.sleeper(dueIn: PollRhythm.first)
        await limits.sleepers(dueIn: .seconds(100))
        limits.advance(by: .seconds(100))
        let statuses = try await registering.value
        #expect(statuses.map(\.phase) == [.registering] && statuses.map(\.failureCount) == [0])
    }

    @Test func `after a save that does not return, nothing is sent or saved until it has returned`() async throws {
        let state = StubbornState()
        let client = try await client(network.node, state)
        state.setHang(hang)
        // The limits of earlier calls end before that of the call that hangs.
        limits.advance(by: .seconds(1))
        let registering = Task { try await client.register(device, with: [first.identity]) }
        await hang.calls(1)
        await limits.sleepers(dueIn: .seconds(10))
        limits.advance(by: .seconds(10))
        let expected = PushClientError.stateUnusable(reason: "it did not return within 10 s")
        await #expect(throws: expected) { try await registering.value }
        var changed = device
        changed.deviceToken = "changed"
        let busy = PushClientError.stateUnusable(reason: "an earlier call has not returned")
        await #expect(throws: busy) { try await client.register(changed, with: [first.identity]) }
        #expect(network.envelopes.isEmpty && hang.count == 1)

        state.setHang(nil)
        hang.release()
        await client.state.saveCalls.waitForAbandonedCalls()
        _ = try await client.register(changed, with: [first.identity])
        #expect(first.registrations.map(\.deviceToken) == ["changed"])
        let again = try await self.client(network.node, state)
        #expect(await again.statuses == client.statuses)
    }

    private struct Unreadable: ClientState {
        let hang: Hang
        func value(named name: String) async throws -> Data? {
            await hang.wait()
            return nil
        }
        func save(_ value: Data, named name: String) async throws {}
    }

    @Test func `a call that is cancelled while the state hangs throws CancellationError at once`() async throws {
        defer { hang.release() }
        let sender = SendingClient(node: network.node, state: Unreadable(hang: hang))
        let looking = Task { [alice] in _ = try await sender.devices(of: alice.publicKey) }
        await hang.calls(1)
        looking.cancel()
        await #expect(throws: CancellationError.self) { try await looking.value }
    }

    @Test func `a state that cannot be read in time is an error of the first call`() async throws {
        let hang = Hang()
        defer { hang.release() }
        let creating = Task { [network, alice] in
            _ = try await RegisteringClient(identity: alice, node: network.node, state: Unreadable(hang: hang))
        }
        await limits.sleepers(dueIn: .seconds(10))
        limits.advance(by: .seconds(10))
        await #expect(throws: PushClientError.stateUnusable(reason: "it did not return within 10 s")) { try await creating.value }
    }
}
