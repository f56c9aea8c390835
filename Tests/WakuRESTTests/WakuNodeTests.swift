import Envelope
import Relay
import TestSupport
import Testing
import WakuREST
import Wire

/// The client of a node's REST API, with the relay as its node.
@Suite(.safetyNet)
struct WakuNodeTests {
    @Test func `distinguishes a node without relay from a topic without subscription`() async throws {
        try await withRelay(.init()) { relay async throws in
            let node = relay.wakuNode
            #expect(try await node.takeMessages(on: TestNode.topic) == nil)
            // The relay responds to every request below this path with the 404 of a missing module.
            let elsewhere = relay.wakuNode(at: "/filter")
            let text = "/filter endpoints are not available. Please check your configuration: --filternode"
            await #expect(throws: NodeError.refused(status: 404, text: text)) { try await elsewhere.takeMessages(on: TestNode.topic) }
        }
    }

    @Test func `reads a store page by page to its end`() async throws {
        try await withRelay { relay async throws in
            for delay in 0..<7 { try await relay.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            try await relay.publish(on: "/a/1/b/other")
            let node = relay.wakuNode(at: "/")
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
            await #expect(throws: NodeError.refused(status: 504, text: "PEER_DIAL_FAILURE: /ip4/127.0.0.1")) {
                try await node.storePage(single)
            }
            #expect(try await node.healthIssues() == [])
        }
    }
}
