import Envelope
import ServiceLifecycle
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST

@Suite(.safetyNet)
struct EmbeddedTransportTests {
    let bus = Bus()
    let receiver = Receiver()
    let transport: EmbeddedTransport
    let client: BusMembership

    init() {
        transport = EmbeddedTransport(bus: bus, pubsubTopics: [TestNode.topic])
        client = bus.attach(listener: Listener())
    }

    /// Runs the transport during the test.
    func whileRunning(_ test: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            // The task runs at once, until it waits for the shutdown.
            group.addImmediateTask { try await transport.run(receiver: receiver) }
            try await test()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `a publication to the server succeeds only after it has recorded the message`() async throws {
        try await whileRunning { () async throws in
            try await client.publish(.sample([7]))
            #expect(receiver.batches == [[.sample([7])]])
            #expect(receiver.condition.value.origins == [.live])
        }
    }

    @Test func `a message that the server could not record is not published`() async throws {
        try await whileRunning { () async throws in
            receiver.refuse(.max)
            await #expect(throws: Receiver.DiskFull.self) { try await client.publish(.sample()) }
        }
    }

    @Test func `messages on other topics do not reach the server`() async throws {
        receiver.refuse(.max)
        try await whileRunning { () async throws in
            try await client.publish(.sample(on: "/waku/2/rs/16/64"))
            try await client.publish(.sample(contentTopic: "/other/1/a/b"))
        }
        #expect(receiver.batches.isEmpty)
    }

    @Test func `a publication fails before the server runs and after it has stopped`() async throws {
        await #expect(throws: NotRecording.self) { try await client.publish(.sample()) }
        try await whileRunning { () async throws in #expect(transport.healthIssues.isEmpty) }
        await #expect(throws: NotRecording.self) { try await client.publish(.sample()) }
        #expect(!transport.healthIssues.isEmpty)
    }

    @Test func `the server does not receive its own messages`() async throws {
        let listener = Listener()
        _ = bus.attach(listener: listener)
        try await whileRunning { () async throws in
            try await transport.publish(.sample())
            #expect(listener.received == [.sample()])
            #expect(receiver.batches.isEmpty)
        }
    }

    @Test func `the transport stops with its service group`() async throws {
        struct Ingest: Service {
            let transport: EmbeddedTransport
            let receiver: Receiver
            let started = Condition(false)

            func run() async throws {
                started.change { $0 = true }
                try await transport.run(receiver: receiver)
            }
        }
        let ingest = Ingest(transport: transport, receiver: receiver)
        let group = ServiceGroup(services: [ingest], logger: quietLogger)
        async let running: Void = group.run()
        await ingest.started.wait { $0 }
        await group.triggerGracefulShutdown()
        try await running
        #expect(!transport.healthIssues.isEmpty)
    }

    @Test func `a relay rejects messages while the server does not run`() async throws {
        try await withRelay(on: bus) { node async throws in
            let message = #"{"payload":"AQ==","contentTopic":"/wanted/1/b/c"}"#
            let answer = try await node.post(TestNode.path, message)
            #expect(answer.status == 503)
            #expect(answer.body == "Failed to publish: the server is not receiving")
            try await whileRunning { () async throws in
                #expect(try await node.post(TestNode.path, message).status == 200)
                #expect(receiver.batches.count == 1)
            }
        }
    }

    @Test func `a relay responds to a sender that the intake is full`() async throws {
        receiver.onReceive { _ in throw Overload.messageCount }
        try await withRelay(on: bus) { node async throws in
            try await whileRunning { () async throws in
                let answer = try await node.post(TestNode.path, #"{"payload":"AQ==","contentTopic":"/wanted/1/b/c"}"#)
                #expect(answer.status == 503)
                #expect(answer.body == "Failed to publish: the server's intake is full")
            }
        }
    }

    @Test func `a relay returns the server's messages and passes messages to the server`() async throws {
        try await withRelay(on: bus) { node async throws in
            try await whileRunning { () async throws in
                let question = WakuEnvelope.sample([1], contentTopic: "/wanted/1/question/proto")
                try await node.wakuNode.publish(question)
                #expect(receiver.batches == [[question]])
                #expect(try await node.wakuNode.takeMessages(on: TestNode.topic) == [question])

                let answer = WakuEnvelope.sample([2], contentTopic: "/wanted/1/answer/proto")
                try await transport.publish(answer)
                #expect(try await node.wakuNode.takeMessages(on: TestNode.topic) == [answer])
                #expect(receiver.batches.count == 1)
            }
        }
    }
}
