import Envelope
import Logging
import ServiceLifecycle
import TestSupport
import Testing
import Transport

@Suite(.safetyNet)
struct EmbeddedTransportTests {
    let bus = Bus()
    let receiver = Receiver()
    let transport: EmbeddedTransport
    let client: BusMembership

    init() {
        transport = EmbeddedTransport(bus: bus, pubsubTopics: [shard])
        client = bus.attach(listener: Listener())
    }

    /// Runs the transport while the test runs.
    func whileRunning(_ test: () async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            // Runs at once, up to where it waits to be shut down.
            group.addImmediateTask { try await transport.run(receiver: receiver) }
            try await test()
            group.cancelAll()
            try await group.waitForAll()
        }
    }

    @Test func `publishing to the server means that it recorded`() async throws {
        try await whileRunning { () async throws in
            try await client.publish(envelope([7]))
            #expect(receiver.batches == [[envelope([7])]])
            #expect(receiver.origins == [.live])
        }
    }

    @Test func `what the server could not record is not published`() async throws {
        try await whileRunning { () async throws in
            receiver.isFull = true
            await #expect(throws: Receiver.DiskFull.self) { try await client.publish(envelope()) }
        }
    }

    @Test func `other topics pass by`() async throws {
        receiver.isFull = true
        try await whileRunning { () async throws in
            try await client.publish(envelope(on: "/waku/2/rs/16/64"))
            try await client.publish(envelope(contentTopic: "/other/1/a/b"))
        }
        #expect(receiver.batches.isEmpty)
    }

    @Test func `nothing is published to a server that does not run (yet, or any more)`() async throws {
        await #expect(throws: TransportError.notRunning) { try await client.publish(envelope()) }
        try await whileRunning { () async throws in #expect(transport.troubles.isEmpty) }
        await #expect(throws: TransportError.notRunning) { try await client.publish(envelope()) }
        #expect(!transport.troubles.isEmpty)
    }

    @Test func `the server does not hear itself`() async throws {
        let listener = Listener()
        _ = bus.attach(listener: listener)
        try await whileRunning { () async throws in
            try await transport.publish(envelope())
            #expect(listener.envelopes == [envelope()])
            #expect(receiver.batches.isEmpty)
        }
    }

    @Test func `ends with its service group`() async throws {
        struct Ingest: Service {
            let transport: EmbeddedTransport
            let receiver: Receiver
            let started = Condition(false)

            func run() async throws {
                started.change { $0 = true }
                try await transport.run(receiver: receiver)
            }
        }
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let ingest = Ingest(transport: transport, receiver: receiver)
        let group = ServiceGroup(services: [ingest], logger: logger)
        async let running: Void = group.run()
        await ingest.started.wait { $0 }
        await group.triggerGracefulShutdown()
        try await running
        #expect(!transport.troubles.isEmpty)
    }
}
