import Bytes
import Envelope
import HTTPClient
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST
import Wire

/// Publishing through a node with faults.
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

    @Test func `the transport publishes messages unchanged`() async throws {
        try await withTransport { transport async throws in
            try await transport.publish(world.envelope(5))
            #expect(world.peers.received == [world.envelope(5)])
            #expect(transport.healthIssues.count == 1)  // No poll has run yet
        }
    }

    @Test func `a publication with unknown result is not repeated, and a later retry sends the same message`() async throws {
        world.control.faults.publishing = .timedOutButSent
        try await withTransport { transport async throws in
            let envelope = world.envelope(5)
            await #expect(throws: TransportError.self) { try await transport.publish(envelope) }
            #expect(world.peers.received == [envelope])
            world.control.faults.publishing = .normal
            try await transport.publish(envelope)
            #expect(world.peers.received == [envelope, envelope])
        }
    }

    @Test func `a node that keeps failing is an issue with its reason until it works`() async throws {
        world.control.faults.publishing = .timedOut
        try await withTransport { transport async throws in
            let error = TransportError.node(.refused(status: 500, text: "Failed to publish: timedout"))
            for count in 1...4 {
                await #expect(throws: error) { try await transport.publish(world.envelope(5)) }
                #expect(transport.issuesWithoutNode.contains("publishing: \(error)") == (count == 4))
            }
            #expect(world.peers.received == [])
            world.control.faults.publishing = .normal
            try await transport.publish(world.envelope(6))
            #expect(!transport.issuesWithoutNode.contains("publishing: \(error)"))
        }
    }

    @Test func `a used-up quota stops echoes, and is a warning until the node accepts a message`() async throws {
        world.control.faults.publishing = .quotaExhausted
        try await withTransport { transport async throws in
            try await world.whileRunning(transport) { () async throws in
                for _ in 1...5 {
                    await #expect {
                        try await transport.publish(world.envelope(5))
                    } throws: { error in
                        if case TransportError.node(let error) = error { error.isQuotaExhausted } else { false }
                    }
                }
                #expect(!transport.canEcho)
                #expect(transport.healthIssues == [])
                #expect(transport.warnings.count == 1)
                #expect(transport.warnings.first?.contains("quota") == true)
                world.control.faults.publishing = .normal
                try await transport.publish(world.envelope(6))
                #expect(transport.canEcho)
                #expect(transport.warnings == [])
            }
        }
    }

    @Test func `a message that the node rejects for its content is not retried`() async throws {
        world.control.faults.publishing = .refused
        try await withTransport { transport async throws in
            await #expect(throws: TransportError.node(.refused(status: 400, text: "Failed to publish: RLN validation failed"))) {
                try await transport.publish(world.envelope(5))
            }
        }
    }

    @Test func `an envelope that is too old for any archive is not sent`() async throws {
        try await withTransport { transport async throws in
            let envelope = world.envelope(5)
            world.advance(by: .seconds(20))
            try await transport.publish(envelope)
            #expect(world.peers.received == [envelope])
            world.advance(by: .seconds(1))
            await #expect(throws: TransportError.outdated) { try await transport.publish(envelope) }
            #expect(world.peers.received == [envelope])
        }
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
}
