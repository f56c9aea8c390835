import Envelope
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// Times in which nothing is received, and what becomes of them.
@Suite(.safetyNet)
struct HoleTests {
    static let foreign = "/other/1/a/b"

    let world = WakuWorld()

    /// Lets minutes pass in steps in which the polls do not pause, and waits for each comparison with a store.
    ///
    /// - Parameter nodeCount: The number of nodes that are polled, and whose histories are compared.
    func pass(_ duration: Duration, nodeCount: Int = 1) async {
        let polls = Array(repeating: WakuWorld.interval, count: nodeCount)
        for step in 1...Int(duration / .seconds(20)) {
            await world.pass(.seconds(20), dueIn: polls + (step % 3 == 0 ? Array(repeating: .seconds(60), count: nodeCount) : []))
        }
    }

    /// Runs a transport while clients of the network speak, so that messages are to be expected afterwards.
    func receive(from urls: [String], messageCount: UInt8 = 60) async throws {
        try await world.whileRunning(world.transport(urls), dueIn: urls.flatMap { _ in WakuWorld.idle }) { () async throws in
            try await world.send(0..<messageCount, contentTopic: Self.foreign)
            await pass(.seconds(120), nodeCount: urls.count)
        }
    }

    func holes() -> [ClosedRange<Timestamp>] { world.checkpoints.holes(of: TestNode.topic).holes.map(\.period) }

    /// The warnings about missing messages, as the lengths of the holes.
    func tell(_ transport: WakuTransport) -> Int { transport.warnings.count { $0.contains("no message was received") } }

    @Test(arguments: [false, true])
    func `what node and server miss while both are down is told until a store has it`(isFilled: Bool) async throws {
        let node = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        await node.start()
        try await receive(from: [node.url])
        await node.kill()
        let missed = world.envelope(200)
        world.advance(by: .seconds(1_800))
        await node.start()
        let transport = world.transport(node.url)
        try await world.whileRunning(transport) { () async throws in
            let hole = try #require(holes().first)
            #expect(hole.lowerBound < TestNode.start.advanced(by: .seconds(121)) && hole.upperBound == world.wallClock.now)
            #expect(tell(transport) == 1)
            let text = "\(TestNode.topic): no message was received from 2023-11-14T22:1"
            #expect(transport.warnings.contains { $0.hasPrefix(text) && $0.contains("to 2023-11-14T22:45:20Z") }, "\(transport.warnings)")
            if isFilled {
                for minute in 0..<30 as Range<Int64> {
                    var envelope = missed
                    envelope.message.timestamp = missed.message.timestamp.map { $0 + minute * 60_000_000_000 }
                    node.control.synchronize(envelope)
                }
            }
            await pass(.seconds(420))
            #expect(tell(transport) == (isFilled ? 0 : 1))
            #expect(world.receiver.numbers.contains(200) == isFilled)
            #expect(transport.healthIssues == [])
        }
        await node.kill()
    }

    @Test func `messages that a store gets within hours are fetched by a listing each half hour`() async throws {
        let node = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        await node.start()
        try await receive(from: [node.url])
        await node.kill()
        let missed = world.envelope(200)
        world.advance(by: .seconds(7_200))
        await node.start()
        let transport = world.transport(node.url)
        try await world.whileRunning(transport) { () async throws in
            // Beyond the last 70 minutes, which are compared every five minutes, and after the review ten minutes after the gap.
            await pass(.seconds(900))
            node.control.synchronize(missed)
            await pass(.seconds(840))
            #expect(!world.receiver.numbers.contains(200))
            await pass(.seconds(180))
            #expect(world.receiver.numbers.contains(200))
        }
        await node.kill()
    }

    @Test func `of two hours, only the hour that a store does not have stays`() async throws {
        let node = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        await node.start()
        try await receive(from: [node.url])
        await node.kill()
        world.advance(by: .seconds(3_600))
        let middle = world.wallClock.now
        world.advance(by: .seconds(3_600))
        await node.start()
        for number in 0..<240 as Range<Int64> {
            node.control.synchronize(.sample([200, UInt8(number)], sent: middle.advanced(by: .seconds(15 * number))))
        }
        let transport = world.transport(node.url)
        try await world.whileRunning(transport) { () async throws in
            #expect(holes().map(\.upperBound) == [middle])
            #expect(tell(transport) == 1)
        }
        await node.kill()
    }

    @Test func `a lone node without peers leaves a hole, although it is polled`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                try await world.send(0..<70, contentTopic: Self.foreign)
                await pass(.seconds(60))
                let saved = world.checkpoints.checkpoint(of: TestNode.topic)
                let start = world.wallClock.now
                (world.control.faults.hasPeers, world.control.faults.reportsPeers) = (false, false)
                for _ in 1...15 { await world.pass(.seconds(20), dueIn: [WakuWorld.interval, .seconds(1)]) }
                #expect(world.checkpoints.checkpoint(of: TestNode.topic) == saved)
                (world.control.faults.hasPeers, world.control.faults.reportsPeers) = (true, true)
                await world.pass(.seconds(1), dueIn: WakuWorld.idle)
                let hole = try #require(holes().first)
                // The last poll before the health showed that the peers are lost may still have counted.
                #expect([start, start.advanced(by: .seconds(20))].contains(hole.lowerBound) && hole.upperBound == world.wallClock.now)
                #expect(holes().count == 1)
                #expect(tell(transport) == 1)
            }
        }
    }

    @Test func `a node with a new store is told of, and a store that is named an hour later fills the hole`() async throws {
        let nodes = try (1...2).map { _ in try RestartableNode(on: world.bus, clock: world.wallClock.clock) }
        await nodes[0].start()
        try await receive(from: [nodes[0].url])
        await nodes[0].kill()
        world.advance(by: .seconds(600))
        await nodes[1].start()
        let transport = world.transport(nodes[1].url)
        try await world.whileRunning(transport) { () async throws in
            #expect(tell(transport) == 0)
            try await world.send([1], contentTopic: Self.foreign)
            await pass(.seconds(60))
            #expect(tell(transport) == 1)
            await pass(.seconds(3_540))
            #expect(tell(transport) == 1)
        }
        let hole = try #require(holes().first)
        nodes[1].control.faults.hasStoreOfPeer = true
        nodes[1].control.synchronize(.sample([200], sent: hole.lowerBound.advanced(by: .seconds(300))))
        let second = world.transport(
            nodes[1].url,
            .init(pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, storePeerAddress: "/dns4/peer/tcp/1/p2p/1"))
        try await world.whileRunning(second) { () async throws in
            #expect(world.receiver.numbers == [200])
        }
        await nodes[1].kill()
    }

    @Test func `a hundred ordinary restarts beside a node are no holes to tell of`() async throws {
        let node = try RestartableNode(on: world.bus, clock: world.wallClock.clock)
        await node.start()
        for number in 1...100 as ClosedRange<UInt8> {
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                #expect(tell(transport) == 0)
                try await world.send([number], contentTopic: Self.foreign)
                await pass(.seconds(60))
            }
            world.advance(by: .seconds(10))
        }
        await node.kill()
    }

    @Test func `a server that goes from two nodes to one has not missed what the others delivered`() async throws {
        let nodes = try (1...2).map { _ in try RestartableNode(on: world.bus, clock: world.wallClock.clock) }
        for node in nodes { await node.start() }
        try await receive(from: nodes.map(\.url))
        await nodes[1].kill()
        let transport = world.transport(nodes[0].url)
        try await world.whileRunning(transport) { () async throws in
            #expect(holes().allSatisfy { $0.length < .seconds(121) })
            #expect(tell(transport) == 0)
        }
        await nodes[0].kill()
    }

    @Test func `while one of two nodes delivers, the other's outage is no hole`() async throws {
        let nodes = try (1...2).map { _ in try RestartableNode(on: world.bus, clock: world.wallClock.clock) }
        for node in nodes { await node.start() }
        let transport = world.transport(nodes.map(\.url))
        try await world.whileRunning(transport, dueIn: WakuWorld.idle + WakuWorld.idle) { () async throws in
            await pass(.seconds(60), nodeCount: 2)
            await nodes[0].kill()
            for delay in [0.5, 1, 2, 4, 8, 10, 10, 10] { await world.pass(.seconds(20), dueIn: [WakuWorld.interval, .seconds(delay)]) }
            await nodes[0].start()
            for _ in 1...6 { await world.pass(.seconds(20), dueIn: [WakuWorld.interval, WakuWorld.interval]) }
            #expect(holes() == [])
        }
        for node in nodes { await node.kill() }
    }
}
