import Bytes
import Envelope
import HTTPClient
import StatusCrypto
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// Nodes that have lost their peers: they accept every message, store their own, and pass none on.
@Suite(.safetyNet)
struct PeerlessNodeTests {
    /// The sleepers of an idle transport whose node has no peers.
    static let peerless = [WakuWorld.interval, .seconds(1)]

    let world = WakuWorld()
    /// The messages that were reported as lost.
    let lost = Recorder<UInt8>()

    func publish(_ number: UInt8, through transport: WakuTransport) async throws {
        try await transport.publish(world.envelope(number)) { [lost] in lost.append(number) }
    }

    func setPeers(_ hasPeers: Bool, of control: RelayControl) {
        control.faults.hasPeers = hasPeers
        control.faults.reportsPeers = hasPeers
    }

    /// Returns the numbers of the server's messages in a node's own store.
    func stored(at url: String) async throws -> [UInt8] {
        var query = StoreQuery()
        query.pubsubTopic = TestNode.topic
        let node = WakuNode(url: url, client: HTTPClient(), commandTimeout: TestNode.patience, readTimeout: TestNode.patience)
        return try await node.storePage(query).rows.compactMap { $0.envelope?.message.payload.first }
    }

    @Test func `a node without peers gets no message until its health is good again, which is read every second`() async throws {
        setPeers(false, of: world.control)
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport, dueIn: Self.peerless) { () async throws in
                #expect(transport.issuesWithoutNode == ["health: the node's relay is not ready: No connected peers"])
                await #expect(throws: TransportError.noPeers) { try await publish(1, through: transport) }
                await #expect(throws: TransportError.noPeers) { try await transport.publishToSelf(world.envelope(2)) }
                #expect(try await stored(at: node.url) == [])
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(world.receiver.returns.all.isEmpty)
                setPeers(true, of: world.control)
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(10)])
                #expect(world.receiver.returns.all.count == 1)
                try await publish(3, through: transport)
                #expect(world.peers.received.compactMap(\.message.payload.first) == [3])
                #expect(transport.healthIssues == [])
                await world.pass(.seconds(10), dueIn: [WakuWorld.interval, .seconds(10)])
                #expect(world.receiver.returns.all.count == 1)
                #expect(lost.all == [])
            }
        }
    }

    @Test func `what a node accepted before its health showed that it has no peers is reported as lost`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                try await publish(1, through: transport)
                world.control.faults.hasPeers = false
                await world.pass(.seconds(5))
                try await publish(2, through: transport)
                // The health lags: it is still good when it is read.
                await world.pass(.seconds(5), dueIn: [WakuWorld.interval, .seconds(10)])
                try await publish(3, through: transport)
                world.control.faults.reportsPeers = false
                #expect(lost.all == [])
                await world.pass(.seconds(10), dueIn: [WakuWorld.interval, .seconds(1)])
                // The second message was lost as well, but longer ago than a node's health lags.
                #expect(lost.all == [3])
                #expect(try await stored(at: node.url) == [1, 2, 3])
                #expect(world.peers.received.compactMap(\.message.payload.first) == [1])
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(lost.all == [3])
            }
        }
    }

    @Test func `three hundred replies are reported as lost, whatever echoes they have, and only fresh envelopes pass`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                world.control.faults.hasPeers = false
                let losses = Recorder<WakuEnvelope>()
                for number in 0..<300 {
                    let envelope = WakuEnvelope.sample([UInt8(number % 256), UInt8(number / 256)], sent: world.wallClock.now)
                    try await transport.publish(envelope) { losses.append(envelope) }
                    for echo in 1...2 as ClosedRange<UInt8> {
                        try await transport.publish(.sample([UInt8(number % 256), UInt8(number / 256), echo], sent: world.wallClock.now))
                    }
                }
                world.control.faults.reportsPeers = false
                await world.pass(.seconds(10), dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(losses.all.count == 300)
                setPeers(true, of: world.control)
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(10)])
                for envelope in losses.all { try await transport.publish(envelope) }
                #expect(world.peers.received == [])
                let fresh = losses.all.map { WakuEnvelope.sample($0.message.payload, sent: world.wallClock.now) }
                for envelope in fresh { try await transport.publish(envelope) }
                #expect(world.peers.received == fresh)
            }
        }
    }

    @Test func `a node whose health cannot be read, or that is busy, gets messages`() async throws {
        for isUnreadable in [false, true] {
            let world = WakuWorld()
            world.control.faults.isGoWaku = isUnreadable
            world.control.faults.health = "EVENT_LOOP_LAGGING"
            try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
                let transport = world.transport(node.url)
                try await world.whileRunning(transport, dueIn: [WakuWorld.interval, .seconds(10)]) { () async throws in
                    try await transport.publish(world.envelope(1))
                    #expect(world.peers.received.count == 1)
                }
            }
        }
    }

    @Test(arguments: [RelayFaults.Publishing.normal, .timedOut, .silent])
    func `a node without peers is no alternative, whatever happens at the other`(fault: RelayFaults.Publishing) async throws {
        let nodes = try (1...2).map { _ in try RestartableNode(on: world.bus, clock: world.wallClock.clock) }
        for node in nodes { await node.start() }
        setPeers(false, of: nodes[0].control)
        let transport = world.transport(nodes.map(\.url))
        try await world.whileRunning(transport, dueIn: Self.peerless + WakuWorld.idle) { () async throws in
            nodes[1].control.faults.publishing = fault
            switch fault {
            case .silent:
                async let delayed: Void = publish(1, through: transport)
                await nodes[1].control.waitForSilentPosts(1)
                await world.pass(.seconds(2), dueIn: [WakuWorld.interval, WakuWorld.interval])
                nodes[1].control.faults.publishing = .normal
                try await delayed
            case .timedOut:
                for number in 1...3 as ClosedRange<UInt8> {
                    await #expect(throws: TransportError.node(.refused(status: 500, text: "Failed to publish: timedout"))) {
                        try await publish(number, through: transport)
                    }
                }
            default:
                for number in 1...3 as ClosedRange<UInt8> { try await publish(number, through: transport) }
            }
            #expect(try await stored(at: nodes[0].url) == [])
            let count = [.normal: 3, .silent: 1][fault] ?? 0
            #expect(world.peers.received.count == count)
            #expect(transport.healthIssues == [])
        }
        for node in nodes { await node.kill() }
    }

    @Test func `a message for which a node turns out to have no peers goes to the other node at once`() async throws {
        let nodes = try (1...2).map { _ in try RestartableNode(on: world.bus, clock: world.wallClock.clock) }
        for node in nodes { await node.start() }
        let transport = world.transport(nodes.map(\.url))
        try await world.whileRunning(transport, dueIn: WakuWorld.idle + WakuWorld.idle) { () async throws in
            nodes[0].control.faults.hasPeers = false
            for number in 1...4 as ClosedRange<UInt8> { try await publish(number, through: transport) }
            let arrived = world.peers.received.compactMap(\.message.payload.first)
            #expect(arrived.count == 2)
            nodes[0].control.faults.reportsPeers = false
            await world.pass(.seconds(10), dueIn: [WakuWorld.interval, WakuWorld.interval, .seconds(1), .seconds(10)])
            #expect(Set(lost.all) == Set(1...4).subtracting(arrived))
            for number in lost.all { try await publish(number, through: transport) }
            #expect(Set(world.peers.received.compactMap(\.message.payload.first)) == [1, 2, 3, 4])
        }
        for node in nodes { await node.kill() }
    }

    @Test func `a node keeps the messages of twelve seconds, 16,384 at most, and 16 MiB`() {
        var messages = AcceptedMessages()
        func add(_ count: Int, byteCount: Int = 1, after delay: Duration) {
            for number in 1...count {
                messages.add(.init(byteCount: byteCount) { [lost] in lost.append(UInt8(truncatingIfNeeded: number)) }, at: delay)
            }
        }
        add(1, after: .zero)
        add(1, after: .seconds(1))
        #expect(messages.take(at: .seconds(13)).count == 1)
        #expect(messages.take(at: .seconds(13)).isEmpty)
        add(AcceptedMessages.maximumCount + 3, after: .seconds(13))
        let kept = messages.take(at: .seconds(13))
        #expect(kept.count == AcceptedMessages.maximumCount)
        kept.first?.reportLoss()
        #expect(lost.all == [4])
        add(3, byteCount: AcceptedMessages.maximumByteCount / 2, after: .seconds(13))
        #expect(messages.take(at: .seconds(13)).count == 2)
    }
}
