import Envelope
import HTTPClient
import Logging
import Relay
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing
import Transport
import Wire

/// The Waku transport against the relay, which stands for a node.
struct WakuTransportTests {
    static let interval = Duration.milliseconds(500)

    /// Wants what begins with `/wanted`; takes it or, told so, refuses it.
    final class Receiver: EnvelopeReceiver {
        struct DiskFull: Error {}

        let batches = Mutex<[[WakuEnvelope]]>([])
        let isFull = Mutex(false)

        var payloads: [[UInt8]] { batches.withLock { $0.flatMap { $0.map(\.message.payload) } } }

        func wants(contentTopic: String) -> Bool { contentTopic.hasPrefix("/wanted") }

        func receive(_ envelopes: [WakuEnvelope], origin: EnvelopeOrigin) throws {
            if isFull.withLock({ $0 }) { throw DiskFull() }
            batches.withLock { $0.append(envelopes) }
        }
    }

    final class Network: BusListener {
        let heard = Mutex<[WakuEnvelope]>([])
        func hear(_ envelope: WakuEnvelope) { heard.withLock { $0.append(envelope) } }
    }

    let bus = Bus()
    let network = Network()
    let peer: BusMembership
    let receiver = Receiver()
    let clock = ManualClock()

    init() {
        peer = bus.attach(listener: network)
    }

    func envelope(_ payload: UInt8, contentTopic: String = "/wanted/1/a/b", on topic: String = TestNode.topic) -> WakuEnvelope {
        var message = WakuMessage()
        message.payload = [payload]
        message.contentTopic = contentTopic
        message.version = 1
        message.timestamp = TestNode.start.nanoseconds
        return WakuEnvelope(pubsubTopic: topic, message: message)
    }

    func transport(_ url: String, topics: [String] = [TestNode.topic]) -> WakuTransport {
        WakuTransport(
            node: WakuNode(url: url, client: HTTPClient()), pubsubTopics: topics, pollInterval: Self.interval, clock: clock,
            logger: quietLogger)
    }

    /// Runs a transport while the test runs, which begins when the transport has nothing to do but wait.
    func whileRunning(_ transport: WakuTransport, topics: Int = 1, _ test: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { [receiver] in try await transport.run(receiver: receiver) }
            await clock.sleepers(topics + 1)
            try await test()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    /// Lets time pass, and what comes of it happen.
    func pass(_ duration: Duration, topics: Int = 1) async {
        clock.advance(by: duration)
        await clock.sleepers(topics + 1)
    }

    @Test func `subscribes where it has to and receives what it wants`() async throws {
        try await withRelay(.init(), on: bus) { node async throws in
            let transport = transport(node.url)
            #expect(!transport.troubles.isEmpty)
            try await whileRunning(transport) { () async throws in
                #expect(transport.troubles == [])
                try await peer.publish(envelope(1))
                try await peer.publish(envelope(2, contentTopic: "/other/1/a/b"))
                try await peer.publish(envelope(3))
                #expect(receiver.payloads == [])
                await pass(Self.interval)
                #expect(receiver.batches.withLock { $0 } == [[envelope(1), envelope(3)]])
                await pass(Self.interval)
                #expect(receiver.payloads == [[1], [3]])
            }
        }
    }

    @Test func `receives on several pubsub topics`() async throws {
        let topics = [TestNode.topic, "/waku/2/rs/16/64"]
        try await withRelay(.init(), on: bus) { node async throws in
            try await whileRunning(transport(node.url, topics: topics), topics: 2) { () async throws in
                for (payload, topic) in zip([1, 2] as [UInt8], topics) { try await peer.publish(envelope(payload, on: topic)) }
                await pass(Self.interval, topics: 2)
                #expect(receiver.batches.withLock { Set($0.joined().map(\.pubsubTopic)) } == Set(topics))
            }
        }
    }

    @Test func `publishes messages as they are`() async throws {
        try await withRelay(on: bus) { node async throws in
            try await transport(node.url).publish(envelope(5))
            #expect(network.heard.withLock { $0 } == [envelope(5)])
        }
    }

    @Test func `says when the node refuses to publish`() async throws {
        try await withRelay(.init(), on: bus) { node async throws in
            let text = "Failed to publish: Node not subscribed to topic: \(TestNode.topic)"
            await #expect(throws: TransportError.refused(status: 400, text: text)) { try await transport(node.url).publish(envelope(5)) }
        }
    }

    @Test func `keeps a batch that could not be recorded and takes nothing else`() async throws {
        try await withRelay(on: bus) { node async throws in
            let transport = transport(node.url)
            try await whileRunning(transport) { () async throws in
                receiver.isFull.withLock { $0 = true }
                try await peer.publish(envelope(1))
                await pass(Self.interval)
                #expect(transport.troubles.count == 1)
                try await peer.publish(envelope(2))
                await pass(Self.interval)
                #expect(receiver.payloads == [])

                receiver.isFull.withLock { $0 = false }
                await pass(.seconds(1))
                #expect(receiver.payloads == [[1]])
                #expect(transport.troubles == [])
                await pass(Self.interval)
                #expect(receiver.payloads == [[1], [2]])
            }
        }
    }

    @Test func `survives a node's restart, which loses the subscription`() async throws {
        var port = 0
        try await withRelay(.init(), on: bus) { node async throws in
            port = try #require(node.url.split(separator: ":").last.flatMap { Int($0) })
        }
        let transport = transport("http://127.0.0.1:\(port)")
        try await whileRunning(transport) { () async throws in
            #expect(transport.troubles == ["\(TestNode.topic): the node cannot be reached: couldNotConnect"])
            for payload in [1, 2] as [UInt8] {
                try await withRelay(.init(port: port), on: bus) { _ async throws in
                    await pass(.seconds(10))
                    #expect(transport.troubles == [])
                    try await peer.publish(envelope(payload))
                    await pass(Self.interval)
                    #expect(receiver.payloads.last == [payload])
                }
                await pass(Self.interval)
                #expect(!transport.troubles.isEmpty)
            }
        }
    }

    @Test func `tells a node without relay from a topic without subscription`() async throws {
        try await withRelay(.init()) { relay async throws in
            let node = WakuNode(url: relay.url, client: HTTPClient())
            #expect(try await node.takeMessages(on: TestNode.topic) == nil)
            // Below this path the relay answers every request with the 404 of a module that is not there.
            let elsewhere = WakuNode(url: relay.url + "/filter", client: HTTPClient())
            let text = "/filter endpoints are not available. Please check your configuration: --filternode"
            await #expect(throws: TransportError.refused(status: 404, text: text)) { try await elsewhere.takeMessages(on: TestNode.topic) }
        }
    }

    @Test func `ends with its service group`() async throws {
        struct Ingest: Service {
            let transport: WakuTransport
            let receiver: Receiver
            func run() async throws { try await transport.run(receiver: receiver) }
        }
        try await withRelay(on: bus) { node async throws in
            let group = ServiceGroup(services: [Ingest(transport: transport(node.url), receiver: receiver)], logger: quietLogger)
            async let running: Void = group.run()
            await clock.sleepers(2)
            await group.triggerGracefulShutdown()
            try await running
        }
    }

    @Test func `reads a store page by page to its end`() async throws {
        try await withRelay { relay async throws in
            for delay in 0..<7 { try await relay.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            try await relay.publish(on: "/a/1/b/other")
            let node = WakuNode(url: relay.url + "/", client: HTTPClient())
            var query = StoreQuery()
            query.pubsubTopic = TestNode.topic
            query.contentTopics = ["/a/1/b/c"]
            query.startTime = TestNode.start.advanced(by: .milliseconds(1))
            query.endTime = TestNode.start.advanced(by: .milliseconds(5))
            query.pageSize = 2
            var pages: [[StorePage.Row]] = []
            try await node.storeMessages(query) { page in pages.append(page.rows) }
            #expect(pages.map(\.count) == [2, 2, 1])
            let timestamps = pages.joined().compactMap(\.envelope?.message.timestamp)
            #expect(timestamps == (1...5).map { TestNode.start.nanoseconds + Int64($0) * 1_000_000 })

            var single = StoreQuery()
            single.hashes = [pages[1][0].hash]
            single.includesData = false
            let page = try await node.storePage(single)
            #expect(page.rows.map(\.hash) == single.hashes)
            #expect(page.rows.allSatisfy { $0.envelope == nil })

            single.peerAddress = "/ip4/127.0.0.1"
            await #expect(throws: TransportError.refused(status: 504, text: "PEER_DIAL_FAILURE: /ip4/127.0.0.1")) {
                try await node.storePage(single)
            }
            #expect(try await node.healthTroubles() == [])
        }
    }
}
