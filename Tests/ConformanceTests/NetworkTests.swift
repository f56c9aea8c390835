import Envelope
import TestServers
import TestSupport
import Testing

@testable import Conformance

/// The kit's reads of a node.
@Suite(.safetyNet) struct NetworkTests {
    @Test func `a node that lists its messages for more than a minute is not waited for`() async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil {}
        }
        let clock = ManualClock()
        let node = ConformanceNode(url: server.url, pubsubTopic: "/waku/2/rs/16/32", reception: .store)
        let wallClock = ManualWallClock(Timestamp(nanoseconds: 1_700_000_000_000_000_000))
        let network = Network(node, wallClock: wallClock.clock, clock: clock)
        async let listing: Void = network.skipEarlierMessages()
        await clock.sleepers(dueIn: .seconds(60))
        clock.advance(by: .seconds(60))
        try await listing
        server.stop()
    }
}
