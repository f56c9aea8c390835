import Foundation
import Relay
import TestSupport
import Testing

/// The faults of a misbehaving relay, set over HTTP.
@Suite(.safetyNet)
struct MisbehavingRelayTests {
    @Test func `a relay takes no orders`() async throws {
        try await withRelay { node async throws in
            #expect(try await node.post("/faults", "{}").status == 400)
            #expect(try await node.post("/faults/restart", nil).status == 400)
        }
    }

    @Test func `faults are set as a whole`() async throws {
        let control = RelayControl()
        try await withRelay(control: control) { node async throws in
            var faults = RelayFaults()
            faults.publishing = .refused
            #expect(try await node.post("/faults", try faults.json).body == "OK")
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

    @Test func `go-waku's dialect`() async throws {
        let control = RelayControl()
        control.faults.isGoWaku = true
        try await withRelay(.init(), control: control) { node async throws in
            #expect(try await node.get("/health").status == 501)
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
