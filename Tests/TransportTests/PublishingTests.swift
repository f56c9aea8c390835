import Envelope
import HTTPClient
import Relay
import StatusCrypto
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// Publishing through a node that has its moods.
@Suite(.safetyNet)
struct PublishingTests {
    let world = WakuWorld()

    func withTransport(
        _ configuration: WakuTransport.Configuration? = nil, _ test: (WakuTransport) async throws -> Void
    ) async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await test(world.transport(node.url, configuration))
        }
    }

    @Test func `publishes messages as they are`() async throws {
        try await withTransport { transport async throws in
            try await transport.publish(world.envelope(5))
            #expect(world.peers.heard == [world.envelope(5)])
            #expect(transport.troubles.count == 1)  // not polled yet
        }
    }

    @Test func `what may have been sent is sent again byte for byte`() async throws {
        world.control.faults.publishing = .timedOutButSent
        try await withTransport { transport async throws in
            let envelope = world.envelope(5)
            let publishing = Task { try await transport.publish(envelope) }
            await world.clock.sleepers(dueIn: .milliseconds(500))
            world.control.faults.publishing = .normal
            world.advance(by: .milliseconds(500))
            try await publishing.value
            #expect(world.peers.heard == [envelope, envelope])
        }
    }

    @Test func `a node that keeps failing is given up, and the operator hears why until it works`() async throws {
        world.control.faults.publishing = .timedOut
        try await withTransport { transport async throws in
            let publishing = Task { [world] in try await transport.publish(world.envelope(5)) }
            for delay in [500, 1_000, 2_000] {
                await world.clock.sleepers(dueIn: .milliseconds(delay))
                world.advance(by: .milliseconds(delay))
            }
            let error = TransportError.refused(status: 500, text: "Failed to publish: timedout")
            await #expect(throws: error) { try await publishing.value }
            #expect(world.peers.heard == [])
            #expect(transport.troubles.contains("publishing: \(error)"))
            world.control.faults.publishing = .normal
            try await transport.publish(world.envelope(6))
            #expect(!transport.troubles.contains("publishing: \(error)"))
        }
    }

    @Test func `what the node refuses for its own sake is not sent again`() async throws {
        world.control.faults.publishing = .refused
        try await withTransport { transport async throws in
            await #expect(throws: TransportError.refused(status: 400, text: "Failed to publish: RLN validation failed")) {
                try await transport.publish(world.envelope(5))
            }
        }
    }

    @Test func `an envelope that no archive would keep is not sent, nor sent again`() async throws {
        world.control.faults.publishing = .timedOut
        try await withTransport { transport async throws in
            let envelope = world.envelope(5)
            let publishing = Task { try await transport.publish(envelope) }
            await world.clock.sleepers(dueIn: .milliseconds(500))
            world.advance(by: .seconds(21))
            await #expect(throws: TransportError.outdated) { try await publishing.value }
            world.control.faults.publishing = .normal
            await #expect(throws: TransportError.outdated) { try await transport.publish(envelope) }
            #expect(world.peers.heard == [])
        }
    }

    @Test func `more than may wait is refused at once`() async throws {
        let transport = world.transport("http://127.0.0.1:1")  // tcpmux: nobody listens
        var large = world.envelope(1)
        large.message.payload = [UInt8](repeating: 1, count: 40 << 20)
        let waiting = Task { [large] in try await transport.publish(large) }
        await world.clock.sleepers(dueIn: .milliseconds(500))  // until the next attempt
        await #expect(throws: TransportError.queueFull) { try await transport.publish(large) }
        waiting.cancel()
        _ = await waiting.result
    }

    @Test func `the server's own messages do not come back to it`() async throws {
        try await withTransport { transport async throws in
            try await world.whileRunning(transport) { () async throws in
                try await transport.publish(world.envelope(5))
                try await world.send([6])
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.numbers == [6])
                await world.pass(.seconds(60), dueIn: WakuWorld.idle)
                #expect(world.receiver.numbers == [6])
            }
        }
    }

    @Test func `what the node took and nobody has is published again, until it is in the store`() async throws {
        let configuration = WakuTransport.Configuration(
            pubsubTopics: [TestNode.topic], pollInterval: WakuWorld.interval, confirmsPublishing: true)
        try await withTransport(configuration) { transport async throws in
            try await world.whileRunning(transport, dueIn: WakuWorld.idle + [.seconds(3)]) { () async throws in
                world.control.faults.dropEvery = 1
                let envelope = world.envelope(5)
                try await transport.publish(envelope)
                #expect(world.peers.heard == [envelope])
                world.control.faults.dropEvery = 0
                await world.pass(.seconds(3), dueIn: [WakuWorld.interval, .seconds(3)])
                #expect(world.peers.heard == [envelope, envelope])
                await world.pass(.seconds(3), dueIn: [WakuWorld.interval, .seconds(3)])
                await world.pass(.seconds(3), dueIn: [WakuWorld.interval, .seconds(3)])
                #expect(world.peers.heard.count == 2)
            }
        }
    }
}
