import Envelope
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// Each counter goes up by the amount of what happened, and no other one does.
@Suite(.safetyNet) struct CounterTests {
    struct Scene: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let counts: [String: Int]
        /// Whether the node gets messages before the transport starts.
        var isSubscribed = false
        let happens: @Sendable (WakuWorld, WakuTransport) async throws -> Void
    }

    static let scenes = [
        Scene(
            testDescription: "a poll with three messages, one of them unwanted, and one with two, of which one is the server's own",
            counts: [
                "pushserver_node_polls_total not_subscribed": 1, "pushserver_node_polls_total succeeded": 3,
                "pushserver_node_messages_fetched_total relay": 5,
                "pushserver_node_messages_known_total": 1, "pushserver_node_messages_published_total": 1,
                "pushserver_gaps_found_total start": 1, "pushserver_gaps_filled_total": 1,
            ]
        ) { world, transport in
            try await world.whileRunning(transport) { () async throws in
                try await world.send(1...2)
                try await world.send([3], contentTopic: "/other/1/a/b")
                await world.pass(WakuWorld.interval)
                try await world.send([4])
                try await transport.publish(world.envelope(5))
                await world.pass(WakuWorld.interval)
            }
        },
        Scene(
            testDescription: "three messages that only the store has",
            counts: [
                "pushserver_node_polls_total succeeded": 2, "pushserver_node_messages_fetched_total store": 3,
                "pushserver_gap_messages_total": 3, "pushserver_gaps_found_total start": 1, "pushserver_gaps_filled_total": 1,
            ],
            isSubscribed: true
        ) { world, transport in
            world.control.faults.evictEvery = 1
            try await world.send(1...3)
            try await world.whileRunning(transport) { () async throws in await world.pass(WakuWorld.interval) }
        },
    ]

    @Test(arguments: scenes) func `what happens is counted, each time once`(_ scene: Scene) async throws {
        let world = WakuWorld()
        try await CountedMetrics.with { counted in
            try await world.withNode(.init(pubsubTopics: scene.isSubscribed ? [TestNode.topic] : [])) { node async throws in
                try await scene.happens(world, world.transport(node.url))
            }
            #expect(counted.all == scene.counts)
        }
    }

    @Test(
        arguments: [
            (.timedOut, .timedOut), (.quotaExhausted, .quotaExhausted), (.refused, .rejected), (.timedOutButSent, .timedOut),
        ] as [(RelayFaults.Publishing, PublishFailure)])
    func `each attempt to publish that fails is counted with its reason`(
        fault: RelayFaults.Publishing, reason: PublishFailure
    ) async throws {
        let world = WakuWorld()
        world.control.faults.publishing = fault
        try await CountedMetrics.with { counted in
            try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
                let transport = world.transport(node.url)
                for number: UInt8 in 1...3 {
                    await #expect(throws: TransportError.self) { try await transport.publish(world.envelope(number)) }
                }
            }
            #expect(counted.all == ["pushserver_node_publish_failures_total \(reason.rawValue)": 3])
        }
    }
}
