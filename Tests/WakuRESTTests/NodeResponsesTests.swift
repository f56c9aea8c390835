import Bytes
import Envelope
import JSON
import StatusCrypto
import TestServers
import TestSupport
import Testing
import Wire

@testable import WakuREST

/// The responses of both kinds of nodes (WAKU_REST.md §1.1, §1.2, §1.5).
@Suite(.safetyNet) struct NodeResponsesTests {
    func read<Value>(_ text: String, _ value: (inout JSONReader) throws(JSONError) -> Value) throws(JSONError) -> Value {
        try JSONReader.read(Array(text.utf8), value)
    }

    @Test(arguments: [
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":1,"timestamp":7,"ephemeral":false,"proof":""}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":1,"timestamp":7}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":1,"timestamp":"7","ephemeral":null,"meta":null,"#
            + #""rateLimitProof":{"a":[1]}}"#,
    ])
    func `a message reads the same from any node`(text: String) throws {
        let json = try read(text) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .answer) }
        var message = WakuMessage()
        message.payload = [1]
        message.contentTopic = "/a/1/b/c"
        message.version = 1
        message.timestamp = 7
        #expect(json.decoded() == message)
    }

    @Test(arguments: [
        (500, "", "the node responded with 500 and an empty body: it has no peers on this topic, most likely"),
        (404, "", "the node responded with 404 and an empty body"),
        (500, "Failed to publish: timedout", "the node responded with 500: Failed to publish: timedout"),
    ])
    func `a rejection without text has a description that does not end in a colon`(status: Int, text: String, description: String) {
        #expect(NodeError.refused(status: status, text: text).description == description)
    }

    @Test func `a topic that is not UTF-8 costs one message, not the batch`() throws {
        let bytes = Array(#"{"payload":"AQ==","contentTopic":"/a/"#.utf8) + [0xFF, 0xC3] + Array(#"/b/c"}"#.utf8)
        let json = try JSONReader.read(bytes) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .answer) }
        #expect(json.decoded()?.contentTopic == "/a/\u{FFFD}\u{FFFD}/b/c")
        #expect(throws: JSONError.self) {
            try JSONReader.read(bytes) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .request) }
        }
        let text = #"{"payload":"AQ==","contentTopic":"/a/ä/b/c"}"#
        let request = try read(text) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .request) }
        #expect(request.decoded()?.contentTopic == "/a/ä/b/c")
    }

    @Test(arguments: [
        "0x" + String(repeating: "fb", count: 32), String(repeating: "+/v7", count: 10) + "+/s=",
        String(repeating: "-_v7", count: 10) + "-_s=",
    ])
    func `a hash is the same in hex and in either alphabet of base64`(text: String) throws {
        let answer = try read(#"{"messages":[{"messageHash":"\#(text)"}]}"#) { reader throws(JSONError) in
            try StoreResponseJSON(reading: &reader)
        }
        #expect(answer.page.rows.map(\.digest) == [Digest32(repeating: 0xFB)])
        #expect(answer.page.rows.map(\.contentTopic) == [nil])
    }

    @Test(arguments: [("0x0a", "0x0a"), ("+/s=", "-_s%3D"), ("-_s=", "-_s%3D")])
    func `a hash and a cursor are sent to go-waku in the base64 alphabet for URLs`(text: String, sent: String) {
        var query = StoreQuery()
        query.hashes = ["0x0b", text]
        query.cursor = text
        #expect(query.parameters.hasSuffix("&hashes=0x0b%2C\(sent)&cursor=\(sent)"))
    }

    @Test func `a published message reads back the same`() throws {
        var message = WakuEnvelope.sample([0, 255], contentTopic: "/a/1/\"ä\"/c").message
        message.meta = [9]
        let json = try read(MessageJSON.request(message)) { reader throws(JSONError) in try MessageJSON(reading: &reader, as: .request) }
        #expect(json.decoded() == message)
    }

    @Test(arguments: [
        #"{"statusCode":200,"statusDesc":"OK","requestId":"","paginationCursor":"0x02","messages":[{"messageHash":"0x01","message":"#
            + #"{"payload":"AQ==","contentTopic":"/wanted/1/a/b","version":1,"timestamp":1700000000000000000},"#
            + #""pubsubTopic":"/waku/2/rs/16/32"}]}"#,
        #"{"status_code":200,"status_desc":"OK","request_id":"","pagination_cursor":"0x02","messages":[{"message_hash":"0x01","message":"#
            + #"{"payload":"AQ==","contentTopic":"/wanted/1/a/b","version":1,"timestamp":"1700000000000000000"},"#
            + #""pubsub_topic":"/waku/2/rs/16/32"}]}"#,
    ])
    func `a page of a store reads the same from any node`(text: String) throws {
        let answer = try read(text) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
        #expect(answer.statusCode == 200)
        #expect(answer.page.cursor == "0x02")
        #expect(answer.page.rows.map(\.hash) == ["0x01"])
        #expect(answer.page.rows.map(\.envelope) == [.sample()])
    }

    @Test func `a node that claims a thousand relays has three issues`() throws {
        let relays = (0..<1_000).map { #"{"Relay":"NOT_READY","desc":"\#($0)"}"# }.joined(separator: ",")
        let health = try read(#"{"protocolsHealth":[\#(relays)]}"#) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
        #expect(health.issues.count == 3)
    }

    @Test(arguments: [
        (#""READY","protocolsHealth":[{"Relay":"READY"},{"Rln Relay":"NOT_MOUNTED"}]"#, [], []),
        (#""Ready","protocolsHealth":[{"Relay":"Ready"}]"#, [], []),
        (
            #""READY","protocolsHealth":[{"Relay":"NOT_READY","desc":"No connected peers"}]"#,
            ["the node's relay is not ready: No connected peers"], []
        ),
        (#""INITIALIZING","protocolsHealth":[]"#, ["the node is not ready: INITIALIZING"], []),
        (#""SHUTTING_DOWN","protocolsHealth":[]"#, ["the node is not ready: SHUTTING_DOWN"], []),
        (#""Not ready""#, ["the node is not ready: Not ready"], []),
        (#""EVENT_LOOP_LAGGING","protocolsHealth":[{"Relay":"READY"}]"#, [], ["the node is busy: EVENT_LOOP_LAGGING"]),
        (
            #""DREAMING\u001b[2J","protocolsHealth":[{"Relay":"NAPPING","desc":"a while"},{"Store":"NOT_READY"}]"#, [],
            [
                "the node is in a state that this version does not know: DREAMING [2J",
                "the node's relay is in a state that this version does not know: a while",
            ]
        ),
    ])
    func `a node that is starting, stopping or without peers is not usable, and other states are warnings`(
        text: String, issues: [String], warnings: [String]
    ) throws {
        let health = try read(#"{"nodeHealth":\#(text)}"#) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
        #expect(health.issues == issues)
        #expect(health.warnings == warnings)
        #expect(health.connection == nil)
    }

    @Test(arguments: [
        (#""connectionStatus":"Connected","protocolsHealth":[{"Relay":"READY"}]"#, true, false, []),
        (#""connectionStatus":"PartiallyConnected","protocolsHealth":[{"Relay":"READY"},{"Store":"NOT_MOUNTED"}]"#, true, true, []),
        (
            #""connectionStatus":"Connected","protocolsHealth":[{"Relay":"NOT_READY","desc":"No connected peers"}]"#, false, false,
            ["the node's relay is not ready: No connected peers"]
        ),
        (
            #""connectionStatus":"Disconnected","protocolsHealth":[{"Relay":"READY"}]"#, false, false,
            ["the node's connection is not ready: Disconnected"]
        ),
        (#""protocolsHealth":[{"Relay":"NOT_MOUNTED"}]"#, false, false, ["the node's relay is not ready: NOT_MOUNTED"]),
        (#""protocolsHealth":[{"Relay":"EVENT_LOOP_LAGGING"},{"Store":"READY"}]"#, true, false, []),
        (#""protocolsHealth":[]"#, true, false, []),
    ])
    func `a node without peers says so in its relay's state or its connection, and a missing store in the store's`(
        text: String, hasPeers: Bool, lacksStore: Bool, issues: [String]
    ) throws {
        let health = try read(#"{"nodeHealth":"READY",\#(text)}"#) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
        #expect(health.hasPeers == hasPeers)
        #expect(health.lacksStore == lacksStore)
        #expect(health.issues == issues)
    }

    @Test(arguments: [("\"Connected\"", "Connected"), ("\"PartiallyConnected\"", "PartiallyConnected"), ("null", nil)])
    func `a node's connection is read in its own words`(json: String, connection: String?) throws {
        let text = #"{"nodeHealth":"READY","connectionStatus":\#(json),"protocolsHealth":[]}"#
        let health = try read(text) { reader throws(JSONError) in try NodeHealth(reading: &reader) }
        #expect(health.connection == connection)
    }

    @Test(arguments: [(1_000, true), (1_001, false)])
    func `a page of a store has at most a thousand rows`(count: Int, isRead: Bool) throws {
        let rows = repeatElement("{}", count: count).joined(separator: ",")
        let page = try? read(#"{"messages":[\#(rows)]}"#) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader).page }
        #expect(page?.rows.count == (isRead ? count : nil))
    }

    @Test(arguments: [#""paginationCursor":"HASH""#, #""pagination_cursor":"HASH""#, #""messages":[{"messageHash":"HASH"}]"#])
    func `a hash or cursor that grows is an error`(field: String) throws {
        for (length, isRead) in [(256, true), (257, false)] {
            let text = "{\(field.replacing("HASH", with: String(repeating: "a", count: length)))}"
            let page = try? read(text) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader).page }
            #expect((page != nil) == isRead)
        }
    }

    @Test(arguments: [
        ("/waku/2/rs/16/32", "%2Fwaku%2F2%2Frs%2F16%2F32"), ("a b+c%", "a%20b%2Bc%25"), ("ä", "%C3%A4"), ("A-z.0_~", "A-z.0_~"),
    ])
    func `a topic becomes one segment of a path`(text: String, encoded: String) {
        #expect(PercentEncoding.encode(text) == encoded)
        #expect(PercentEncoding.decode(encoded) == text)
    }

    @Test func `a plus is a space to a node, except in a hash`() {
        #expect(PercentEncoding.decode("a+b") == "a b")
        #expect(PercentEncoding.decode("a+b", plusIsSpace: false) == "a+b")
    }

    @Test(arguments: ["%", "%2", "%zz", "%ff"])
    func `a broken escape is rejected`(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
    }

    @Test func `a damaged response is an error or another response, never a crash`() {
        let text = #"{"statusCode":200,"messages":[{"messageHash":"0x01","message":{"payload":"A\u00e4\ud83d\ude00\/","timestamp":-1}}]}"#
        let bytes = Array(text.utf8)
        #expect(throws: Never.self) {
            try JSONReader.read(bytes) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
        }
        for index in bytes.indices {
            #expect(throws: JSONError.self) {
                try JSONReader.read(Array(bytes[..<index])) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
            }
            for replacement in Array(#"{}[]",:\u0"#.utf8) + [0, 0x80, 0xFF] {
                var damaged = bytes
                damaged[index] = replacement
                _ = try? JSONReader.read(damaged) { reader throws(JSONError) in try StoreResponseJSON(reading: &reader) }
            }
        }
    }
}
