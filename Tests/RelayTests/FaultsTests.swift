import Relay
import TestSupport
import Testing

/// The strings of a misbehaving relay, over HTTP.
@Suite(.safetyNet)
struct FaultsTests {
    let none =
        #"{"dropEvery":0,"evictEvery":0,"copies":1,"isReversed":false,"delayMilliseconds":0,"losesAnswers":false,"#
        + #""isNotReady":false,"hasNoStore":false,"publishing":"normal","isGoWaku":false}"#

    @Test func `a relay behaves unless it was told that it may be told otherwise`() async throws {
        try await withRelay { node async throws in
            #expect(try await node.get("/faults").status == 400)
            #expect(try await node.post("/faults", "{}").status == 400)
            #expect(try await node.post("/faults/restart", nil).status == 400)
        }
    }

    @Test func `faults are set as a whole, and read back`() async throws {
        try await withRelay(.init(pubsubTopics: [TestNode.topic], allowsFaults: true)) { node async throws in
            #expect(try await node.get("/faults").body == none)
            let all =
                #"{"dropEvery":5,"evictEvery":4,"copies":3,"isReversed":true,"delayMilliseconds":1500,"losesAnswers":true,"#
                + #""isNotReady":true,"hasNoStore":true,"publishing":"timedOutButSent","isGoWaku":true}"#
            #expect(try await node.post("/faults", all).body == "OK")
            #expect(try await node.get("/faults").body == all)
            #expect(try await node.post("/faults", #"{"publishing":"refused"}"#).status == 200)
            #expect(try await node.publishStatus() == 400)
            #expect(try await node.post("/faults", "{}").status == 200)
            #expect(try await node.get("/faults").body == none)
            #expect(try await node.publishStatus() == 200)
        }
    }

    @Test(arguments: ["", "[]", #"{"unknown":1}"#, #"{"copies":-1}"#, #"{"publishing":"maybe"}"#])
    func `other faults are refused`(body: String) async throws {
        try await withRelay(.init(allowsFaults: true)) { node async throws in
            #expect(try await node.post("/faults", body).status == 400)
            #expect(try await node.get("/faults").body == none)
        }
    }

    @Test func `a restart loses the cache and the subscriptions of the API, and keeps the store`() async throws {
        try await withRelay(.init(allowsFaults: true)) { node async throws in
            let info = try await node.get("/info").body
            #expect(try await node.post("/relay/v1/subscriptions", #"["\#(TestNode.topic)"]"#).status == 200)
            try await node.publish(on: "/a/1/b/c")
            #expect(try await node.post("/faults/restart", nil).status == 200)
            #expect(try await node.get(TestNode.path).status == 404)
            #expect(try await node.get("/store/v3/messages").body.contains("messageHash"))
            #expect(try await node.get("/info").body != info)
            #expect(try await node.post("/faults/forget-store", nil).status == 200)
            #expect(try await !node.get("/store/v3/messages").body.contains("messageHash"))
        }
    }

    @Test func `lost subscriptions are those of the API`() async throws {
        try await withRelay(.init(pubsubTopics: [TestNode.topic], allowsFaults: true)) { node async throws in
            #expect(try await node.post("/relay/v1/subscriptions", #"["/waku/2/rs/16/64"]"#).status == 200)
            #expect(try await node.post("/faults/lose-subscriptions", nil).status == 200)
            #expect(try await node.get(TestNode.path).body == "[]")
            #expect(try await node.get("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F64").status == 404)
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

extension TestNode {
    fileprivate func publishStatus() async throws -> Int {
        try await post(Self.path, #"{"payload":"AQID","contentTopic":"/a/1/b/c","version":1}"#).status
    }
}
