import Envelope
import TestServers
import TestSupport
import Testing
import WakuREST
import Wire

@testable import Transport

/// The versions of messages at a node: 0 and 1 mean the same, and the hash covers neither (PROTOCOL.md §3).
@Suite(.safetyNet) struct MessageVersionTests {
    let world = WakuWorld()

    private func send(_ number: UInt8, version: UInt32) async throws {
        var envelope = world.envelope(number)
        envelope.message.version = version
        try await world.peer.publish(envelope)
    }

    @Test(arguments: [0, 1] as [UInt32])
    func `a message of version 0 or 1 is received, live and from the store`(version: UInt32) async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                try await send(1, version: version)
                await world.pass(WakuWorld.interval)
                try await send(2, version: version)
                // The node's cache is empty afterwards, so that only the store has the message.
                try world.control.restart()
                await world.pass(.seconds(60), dueIn: WakuWorld.idle)
                #expect(world.receiver.numbers == [1, 2])
                #expect(world.receiver.condition.value.origins == [.live, .backfilled])
            }
        }
    }

    @Test(arguments: [(0, 1), (1, 0)] as [(UInt32, UInt32)])
    func `twins of version 0 and 1 are one message, whichever comes first`(first: UInt32, second: UInt32) async throws {
        try await world.withNode { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                for (number, isTogether) in [(1, true), (2, false)] as [(UInt8, Bool)] {
                    var envelope = world.envelope(number)
                    envelope.message.version = first
                    try await world.peer.publish(envelope)
                    if !isTogether { await world.pass(WakuWorld.interval) }
                    envelope.message.version = second
                    try await world.peer.publish(envelope)
                    await world.pass(WakuWorld.interval)
                }
                #expect(world.receiver.batches.flatMap(\.self).map(\.message.version) == [first, first])
            }
        }
    }

    @Test func `a wanted message of another version is counted instead of received, live and from the store`() async throws {
        try await world.withNode(.init(pubsubTopics: [TestNode.topic])) { node async throws in
            try await world.whileRunning(world.transport(node.url)) { () async throws in
                try await send(1, version: 2)
                await world.pass(WakuWorld.interval)
                #expect(world.receiver.unreadable.all.map(\.message.payload) == [[1]])
                try await send(2, version: 3)
                try world.control.restart()
                await world.pass(.seconds(60), dueIn: WakuWorld.idle)
                #expect(Set(world.receiver.unreadable.all.map(\.message.payload)) == [[1], [2]])
                #expect(world.receiver.numbers == [])
            }
        }
    }
}
