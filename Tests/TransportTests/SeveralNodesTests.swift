import Envelope
import HTTPClient
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// A transport at two nodes of one network. Tests stop and restart each.
@Suite(.safetyNet)
struct SeveralNodesTests {
    /// The sleepers while both nodes are idle.
    static let idle = WakuWorld.idle + WakuWorld.idle
    /// The sleepers after a poll of both nodes.
    static let polled = [WakuWorld.interval, WakuWorld.interval]

    let world = WakuWorld()
    let first: RestartableNode
    let second: RestartableNode

    init() throws {
        first = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        second = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
    }

    /// Runs the test at two nodes whose histories the transport has read.
    func whileReceiving(_ test: (WakuTransport) async throws -> Void) async throws {
        await first.start()
        await second.start()
        let transport = world.transport([first.url, second.url])
        try await world.whileRunning(transport, dueIn: Self.idle) { () async throws in try await test(transport) }
        await first.kill()
        await second.kill()
    }

    @Test func `killing and restarting one node under load, then the other, loses no message, and a warning names the node`()
        async throws
    {
        try await whileReceiving { transport async throws in
            #expect(transport.healthIssues == [] && transport.warnings == [])
            var number: UInt8 = 0
            for node in [first, second] {
                try await world.send([number + 1, number + 2])
                await node.kill()
                try await world.send([number + 3])
                await world.pass(WakuWorld.interval, dueIn: Self.polled)
                let issue = "node \(node.name): \(TestNode.topic): the node cannot be reached: \(HTTPError.Kind.couldNotConnect)"
                #expect(transport.warnings == [issue])
                #expect(transport.healthIssues == [])
                // The remaining node delivers messages, and accepts replies at the first attempt.
                try await transport.publish(world.envelope(number + 101))
                try await transport.publish(world.envelope(number + 102))
                try await world.send([number + 4])
                await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(Set(world.receiver.numbers) == Set(1...(number + 4)))
                await node.start()
                try await world.send([number + 5])
                await world.pass(.seconds(1), dueIn: Self.polled + [.seconds(60)])
                #expect(transport.warnings == [])
                number += 5
            }
            #expect(world.receiver.numbers.sorted() == Array(1...10))
            #expect(world.peers.received.compactMap(\.message.payload.first) == [101, 102, 106, 107])
        }
    }

    @Test func `without any node the transport is not ready, and names each node`() async throws {
        try await whileReceiving { transport async throws in
            await first.kill()
            await second.kill()
            await world.pass(WakuWorld.interval, dueIn: Self.polled)
            #expect(transport.warnings == [])
            #expect(transport.healthIssues.count == 2)
            for number in 1...4 as ClosedRange<UInt8> {
                await #expect(throws: TransportError.self) { try await transport.publish(world.envelope(number)) }
            }
            #expect(transport.healthIssues.count { $0.contains("publishing") } == 2)
            await second.start()
            await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, .seconds(1), .seconds(60)])
            // A failed publication during the outage does not apply to the restarted node.
            #expect(transport.healthIssues == [])
            #expect(transport.warnings.count == 1 && transport.warnings.first?.contains(", publishing: ") == true, "\(transport.warnings)")
        }
    }

    @Test func `messages missing in the store of one node come from the other's`() async throws {
        await first.start()
        await second.start()
        first.control.faults.dropEvery = 1
        try await world.send([1])
        first.control.faults.dropEvery = 0
        second.control.faults.dropEvery = 1
        try await world.send([2])
        second.control.faults.dropEvery = 0
        // Restarts empty both caches.
        try first.control.restart()
        try second.control.restart()
        let transport = world.transport([first.url, second.url])
        try await world.whileRunning(transport, dueIn: Self.idle) { () async throws in
            #expect(world.receiver.numbers.sorted() == [1, 2])
            // Each node has its own checkpoint.
            let names = world.checkpoints.condition.value.keys.filter { world.checkpoints.checkpoint(of: $0) != nil }
            #expect(names.count { !$0.hasSuffix(", versions 0 and 1") } == 3)
        }
        await first.kill()
        await second.kill()
    }

    @Test func `a node without a store is a warning while the other has one`() async throws {
        first.control.faults.hasNoStore = true
        await first.start()
        await second.start()
        let transport = world.transport([first.url, second.url])
        try await world.whileRunning(transport, dueIn: GapTests.withoutHistory + WakuWorld.idle) { () async throws in
            #expect(transport.healthIssues == [])
            #expect(transport.warnings.count == 1)
            #expect(transport.warnings.first?.hasPrefix("node \(first.name): history of \(TestNode.topic): ") == true)
        }
        await first.kill()
        await second.kill()
    }

    @Test(arguments: [RelayFaults.Publishing.timedOut, .refused])
    func `a message that one node rejects is published through the other at once`(fault: RelayFaults.Publishing) async throws {
        try await whileReceiving { transport async throws in
            first.control.faults.publishing = fault
            for number in 1...4 as ClosedRange<UInt8> { try await transport.publish(world.envelope(number)) }
            #expect(world.peers.received.compactMap(\.message.payload.first) == [1, 2, 3, 4])
            #expect(transport.healthIssues == [])
        }
    }

    @Test func `a silent node delays one message by a second, and the next ones not at all`() async throws {
        try await whileReceiving { transport async throws in
            first.control.faults.publishing = .silent
            async let delayed: Void = transport.publish(world.envelope(1))
            await first.control.waitForSilentPosts(1)
            await world.clock.sleepers { $0.contains(.seconds(1)) }
            #expect(world.peers.received.isEmpty)
            world.advance(by: .seconds(1))
            try await delayed
            for number in 2...4 as ClosedRange<UInt8> { try await transport.publish(world.envelope(number)) }
            #expect(world.peers.received.compactMap(\.message.payload.first) == [1, 2, 3, 4])
            #expect(transport.healthIssues == [])
            first.control.faults.publishing = .normal  // A node stops only after its response
        }
    }

    @Test func `a silent node without an alternative delays the message until it responds`() async throws {
        await first.start()
        let transport = world.transport(first.url)
        try await world.whileRunning(transport) { () async throws in
            first.control.faults.publishing = .silent
            async let delayed: Void = transport.publish(world.envelope(1))
            await first.control.waitForSilentPosts(1)
            await world.pass(.seconds(1), dueIn: [WakuWorld.interval])
            first.control.faults.publishing = .normal
            try await delayed
            #expect(world.peers.received.compactMap(\.message.payload.first) == [1])
        }
        await first.kill()
    }
}
