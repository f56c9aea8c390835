import Envelope
import HTTPClient
import ServiceLifecycle
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// The Waku transport as a receiver, with the relay as its node.
@Suite(.safetyNet)
struct WakuTransportTests {
    let world = WakuWorld()

    @Test func `the transport subscribes to its pubsub topics and receives wanted messages`() async throws {
        try await world.withNode { node async throws in
            let transport = world.transport(node.url)
            #expect(!transport.healthIssues.isEmpty)
            try await world.whileRunning(transport) { () async throws in
                #expect(transport.healthIssues == [])
                try await world.send([1])
                try await world.send([2], contentTopic: "/other/1/a/b")
                try await world.send([3])
                #expect(world.receiver.numbers == [])
                await world.pass(WakuWorld.interval)
                #expect(
                    world.receiver.batches == [[world.receiver.condition.value.messages[0], world.receiver.condition.value.messages[1]]])
                #expect(world.receiver.numbers == [1, 3])
                #expect(world.receiver.condition.value.origins == [.live, .live])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 3])
            }
        }
    }

    @Test func `the transport receives on several pubsub topics, each with its checkpoint`() async throws {
        let topics = [TestNode.topic, "/waku/2/rs/16/64"]
        try await world.withNode { node async throws in
            let transport = world.transport(node.url, .init(pubsubTopics: topics, pollInterval: WakuWorld.interval))
            try await world.whileRunning(transport, dueIn: WakuWorld.idle + [WakuWorld.interval, .seconds(60)]) { () async throws in
                for (number, topic) in zip([1, 2] as [UInt8], topics) { try await world.send([number], on: topic) }
                await world.pass(WakuWorld.interval, dueIn: [WakuWorld.interval, WakuWorld.interval])
                #expect(Set(world.receiver.condition.value.messages.map(\.pubsubTopic)) == Set(topics))
                #expect(topics.map { world.checkpoints.checkpoint(of: $0) } == [TestNode.start, TestNode.start])
            }
        }
    }

    @Test func `a twin with an unsupported version does not replace a message, live or in the store`() async throws {
        try await world.withNode { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                for (number, isTogether) in [(1, true), (2, false)] as [(UInt8, Bool)] {
                    var twin = world.envelope(number)
                    twin.message.version = 2
                    try await world.peer.publish(twin)
                    if !isTogether { await world.pass(WakuWorld.interval) }
                    try await world.send([number])
                    await world.pass(WakuWorld.interval)
                    #expect(world.receiver.numbers.last == number)
                }
                #expect(world.receiver.condition.value.messages.allSatisfy { $0.message.version == 1 })
            }
        }
    }

    @Test func `a larger batch shortens the time to the next poll`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let configuration = WakuTransport.Configuration(
                pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, cacheCapacity: 16)
            try await world.whileRunning(world.transport(node.url, configuration)) { () async throws in
                // This message comes while a batch is being recorded. After a small batch it waits for the next interval, and after a large
                // one it does not.
                world.receiver.onReceive { batch in
                    if batch.count >= 3 { try await world.send([UInt8(100 + batch.count)]) }
                }
                try await world.send(1...3)
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 2, 3])
                await world.pass(WakuWorld.interval)
                try await world.send(4...7)
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 2, 3, 103, 4, 5, 6, 7, 104])
            }
        }
    }

    @Test func `the transport keeps a batch that could not be recorded, and takes no other until it is`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport) { () async throws in
                world.receiver.refuse(1)
                try await world.send([1])
                await world.pass(WakuWorld.interval)
                #expect(transport.healthIssues == [])
                #expect(transport.nodeReports.map(\.issues) == [[]])
                try await world.send([2])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 2])
            }
        }
    }

    @Test func `messages beyond the receiver's capacity come from the store once capacity is free, without a warning`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            let isFull = Condition(true)
            try await world.whileRunning(transport) { () async throws in
                world.receiver.onReceive { _ in if isFull.value { throw Overload.byteCount } }
                try await world.send([1])
                await world.pass(WakuWorld.interval)
                #expect(transport.healthIssues == [])
                // A comparison finds the message in the store, and waits for capacity.
                await world.pass(.seconds(60), dueIn: [WakuWorld.interval, .seconds(1)])
                #expect(transport.healthIssues == [])
                #expect(world.receiver.numbers == [])
                #expect(world.checkpoints.checkpoint(of: TestNode.topic) == TestNode.start)
                isFull.change { $0 = false }
                try await world.send([2])
                await world.pass(.seconds(1), dueIn: [WakuWorld.interval, .seconds(60)])
                #expect(Set(world.receiver.numbers) == [1, 2])
            }
        }
    }

    @Test func `a query that arrives with its registration is accepted once the registration is committed`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                try await world.send([1])
                try await world.send([2], contentTopic: "/late/1/a/b")
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1])
                world.receiver.lateTopics.change { $0 = ["/late/1/a/b"] }
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [1, 2])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.batches.count == 2)
            }
        }
    }

    @Test func `messages in the transport are recorded before it stops`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                world.receiver.refuse(4)
                try await world.send([1])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.condition.value.refusals == 1)
            }
            #expect(world.receiver.numbers == [1])
        }
    }

    @Test func `the transport reports an unreachable node, and recovers with it`() async throws {
        // The system assigns ports above this range, so other tests do not get the port meanwhile.
        let port = Int.random(in: 20_000..<30_000)
        let transport = world.transport("http://127.0.0.1:\(port)")
        try await world.whileRunning(transport, dueIn: [WakuWorld.interval, .seconds(10)]) { () async throws in
            #expect(
                transport.healthIssues == [
                    "node 127.0.0.1:\(port): \(TestNode.topic): the node cannot be reached: \(HTTPError.Kind.couldNotConnect)"
                ])
            for number in [1, 2] as [UInt8] {
                try await world.withNode(.init(port: port)) { _ async throws in
                    await world.pass(.seconds(10), dueIn: WakuWorld.idle)
                    #expect(transport.healthIssues == [])
                    try await world.send([number])
                    await world.pass(WakuWorld.interval)
                    #expect(world.receiver.numbers.last == number)
                }
                await world.pass(WakuWorld.interval)
                #expect(!transport.healthIssues.isEmpty)
            }
        }
    }

    @Test func `the transport reports that a node is not ready yet, and waits for it`() async throws {
        world.control.faults.isNotReady = true
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            let transport = world.transport(node.url)
            try await world.whileRunning(transport, dueIn: [WakuWorld.interval, .seconds(1)]) { () async throws in
                #expect(
                    transport.issuesWithoutNode == [
                        "\(TestNode.topic): the node is starting", "health: the node is not ready: INITIALIZING",
                    ])
                world.control.faults.isNotReady = false
                try await world.send([1])
                await world.pass(.seconds(10), dueIn: WakuWorld.idle)
                #expect(world.receiver.numbers == [1])
                #expect(transport.healthIssues == [])
            }
        }
    }

    @Test func `the transport stops with its service group`() async throws {
        struct Ingest: Service {
            let transport: WakuTransport
            let receiver: Receiver
            func run() async throws { try await transport.run(receiver: receiver) }
        }
        try await world.withNode { node async throws in
            let group = ServiceGroup(
                services: [Ingest(transport: world.transport(node.url), receiver: world.receiver)], logger: quietLogger)
            async let running: Void = group.run()
            await world.clock.sleepers(dueIn: WakuWorld.idle)
            await group.triggerGracefulShutdown()
            try await running
        }
    }
}
