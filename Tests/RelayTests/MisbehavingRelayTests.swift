import Envelope
import Foundation
import TestServers
import TestSupport
import Testing
import Transport
import WakuREST

/// The faults of a misbehaving relay, set over HTTP.
@Suite(.safetyNet)
struct MisbehavingRelayTests {
    @Test func `a relay takes no orders`() async throws {
        try await withRelay { node async throws in
            #expect(try await node.post("/faults", "{}").status == 404)
            #expect(try await node.post("/faults/restart", nil).status == 404)
        }
    }

    @Test func `faults are set as a whole`() async throws {
        let control = RelayControl()
        try await withRelay(control: control) { node async throws in
            var faults = RelayFaults()
            faults.publishing = .refused
            #expect(try await node.post("/faults", try faults.json).body == "OK")
            #expect(control.faults == faults)
            // The name alone is wrong.
            #expect(try await node.post("/faults", try faults.json.replacing(#""refused""#, with: #""maybe""#)).status == 400)
            #expect(control.faults == faults)
            #expect(try await node.publishStatus() == 400)
            #expect(try await node.post("/faults", try RelayFaults().json).status == 200)
            #expect(try await node.publishStatus() == 200)
        }
    }

    @Test(arguments: ["", "[]", "{}", #"{"publishing":"maybe"}"#])
    func `other faults are refused`(body: String) async throws {
        let control = RelayControl()
        try await withRelay(control: control) { node async throws in
            #expect(try await node.post("/faults", body).status == 400)
            #expect(control.faults == RelayFaults())
        }
    }

    @Test func `a restart loses the cache and the subscriptions of the API, and keeps the store`() async throws {
        try await withRelay(.init(), control: RelayControl()) { node async throws in
            let info = try await node.get("/info").body
            #expect(try await node.post("/relay/v1/subscriptions", #"["\#(TestNode.topic)"]"#).status == 200)
            try await node.publish(on: "/a/1/b/c")
            #expect(try await node.post("/faults/restart", nil).status == 200)
            #expect(try await node.get(TestNode.path).status == 404)
            #expect(try await node.get("/store/v3/messages").body.contains("messageHash"))
            #expect(try await node.get("/info").body != info)
        }
    }

    @Test func `a starting node has neither protocols nor routes, and a lagging one has both`() async throws {
        let control = RelayControl()
        try await withRelay(control: control) { node async throws in
            control.faults.isNotReady = true
            let starting = #"{"nodeHealth":"INITIALIZING","connectionStatus":"Disconnected","protocolsHealth":[]}"#
            #expect(try await node.get("/health").body == starting)
            for root in ["relay", "store", "messaging"] {
                let answer = try await node.get("/\(root)/v1/x")
                #expect(answer.status == 404)
                #expect(answer.body == "")
            }
            control.faults = RelayFaults()
            control.faults.health = "EVENT_LOOP_LAGGING"
            let health = try await node.get("/health").body
            #expect(health.hasPrefix(#"{"nodeHealth":"EVENT_LOOP_LAGGING","connectionStatus":"Connected","protocolsHealth":[{"#))
            #expect(try await node.get(TestNode.path).status == 200)
        }
    }

    @Test func `a store without a sense of direction ends after its first page`() async throws {
        let control = RelayControl()
        control.faults.losesItsWay = true
        try await withRelay(control: control) { node async throws in
            for delay in 0..<3 { try await node.publish(on: "/a/1/b/c", sent: .milliseconds(delay)) }
            var query = StoreQuery()
            query.pageSize = 2
            let page = try await node.wakuNode.storePage(query)
            #expect(page.rows.count == 2 && page.cursor != nil)
            query.cursor = page.cursor
            let next = try await node.wakuNode.storePage(query)
            #expect(next.rows.isEmpty && next.cursor == nil)
        }
    }

    @Test func `messages of other stores enter the store at any age, and are not delivered`() async throws {
        let control = RelayControl()
        try await withRelay(control: control) { node async throws in
            control.synchronize(.sample(sent: TestNode.start.advanced(by: .seconds(-3_000))))
            #expect(try await node.get(TestNode.path).body == "[]")
            #expect(try await node.get("/store/v3/messages").body.contains("messageHash"))
            control.faults.keepsNothing = true
            #expect(try await !node.get("/store/v3/messages").body.contains("messageHash"))
        }
    }

    @Test func `go-waku's dialect`() async throws {
        let control = RelayControl()
        control.faults.isGoWaku = true
        try await withRelay(.init(), control: control) { node async throws in
            #expect(try await node.get("/health").status == 501)
            let unsubscribed = try await node.get(TestNode.path)
            #expect(unsubscribed.status == 404 && unsubscribed.body == "no subscription found for pubsubTopic")
            #expect(try await node.publishStatus() == 500)
            #expect(try await node.post("/relay/v1/subscriptions", #"["\#(TestNode.topic)"]"#).body == "true")
            #expect(try await node.get(TestNode.path).body == "null")
            let timestamp = try await node.publish(on: "/a/1/b/c")
            #expect(
                try await node.get(TestNode.path).body
                    == #"[{"payload":"AQID","contentTopic":"/a/1/b/c","version":1,"timestamp":\#(timestamp),"ephemeral":null}]"#)
            #expect(try await node.get("/store/v3/messages?pubsubTopic=%2Fwaku%2F2%2Frs%2F16%2F32").status == 400)
            let page = try await node.get("/store/v3/messages?pubsubTopic=%2Fwaku%2F2%2Frs%2F16%2F32&contentTopics=%2Fa%2F1%2Fb%2Fc")
            #expect(page.body.contains(#""status_code":200"#))
        }
    }
}

extension RelayFaults {
    fileprivate var json: String { get throws { String(decoding: try JSONEncoder().encode(self), as: UTF8.self) } }
}

extension TestNode {
    fileprivate func publishStatus() async throws -> Int {
        try await post(Self.path, #"{"payload":"AQID","contentTopic":"/a/1/b/c","version":1}"#).status
    }
}
