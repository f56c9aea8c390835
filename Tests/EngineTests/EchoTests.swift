import Engine
import Envelope
import TestSupport
import Testing
import Wire

/// Clients were seen to listen for their answer only after it had come: it is said again.
@Suite(.safetyNet) struct EchoTests {
    @Test func `a reply is said again after 1.5 and after 4 seconds, the same in other bytes`() async throws {
        let harness = try Harness()
        let alice = ProtocolClient(server: harness.server)
        try await harness.withServer(echoesReplies: true) { server in
            try await server.publish(alice.envelope(alice.registration()))
            _ = try await alice.reply(1, from: harness)
            await server.engine.waitUntilIdle()
            for tick in 1...20 {
                await harness.clock.sleepers(dueIn: .milliseconds(250))  // the next tick
                // Said at the end of the sixth tick and of the sixteenth, which is over when the stage sleeps again.
                #expect(harness.replyCount(to: alice) == (tick <= 6 ? 1 : tick <= 16 ? 2 : 3), "tick \(tick)")
                harness.clock.advance(by: .milliseconds(250))
            }
        }
        let replies = harness.replies.all.filter { alice.open($0) != nil }
        #expect(Set(replies.map(\.hash)).count == 3)
        let payloads = Set(replies.compactMap { alice.open($0)?.payload })
        #expect(payloads.count == 1)
    }
}
