import Envelope
import Foundation
import HTTPClient
import TestServers
import TestSupport
import Testing

/// The behaviour of nwaku (WAKU_REST.md §1, §2). The tests pass with the relay and, with `WAKU_NODE_URL`, with a real node.
@Suite(.safetyNet)
struct NodeTests {
    static let topic = TestNode.topic
    static let path = TestNode.path

    @Test(arguments: ["/health", "/info", "/debug/v1/info", "/version", "/debug/v1/version"])
    func `says what it is`(path: String) async throws {
        try await withNode { node async throws in
            let answer = try await node.get(path)
            #expect(answer.status == 200)
            #expect(!answer.body.isEmpty)
            #expect(answer.contentType == (path.hasSuffix("version") ? "text/plain" : "application/json"))
        }
    }

    @Test func `closes every connection`() async throws {
        try await withNode { node async throws in
            #expect(try await node.get("/health").connection == "close")
            #expect(try await node.get("/nowhere").connection == "close")
        }
    }

    @Test func `a response to HEAD has no body`() async throws {
        try await withNode { node async throws in
            let connection = try node.connect()
            connection.write("HEAD /nowhere HTTP/1.1\r\nHost: x\r\n\r\n")
            let answer = await connection.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 404 Not Found\r\n") && answer.hasSuffix("\r\n\r\n"))
            connection.close()
        }
    }

    @Test func `a client that waits for 100 Continue before its body receives it`() async throws {
        try await withNode { node async throws in
            let body = #"["\#(Self.topic)"]"#
            let connection = try node.connect()
            connection.write(
                "POST /relay/v1/subscriptions HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n")
            #expect(await connection.readHead() == "HTTP/1.1 100 Continue\r\n\r\n")
            connection.write(body)
            let answer = await connection.readToEnd()
            #expect(answer.hasPrefix("HTTP/1.1 200 OK\r\n") && answer.hasSuffix("\r\n\r\nOK"))
            connection.close()
        }
    }

    @Test func `subscribes and unsubscribes, as often as one likes`() async throws {
        try await withNode { node async throws in
            let list = #"["/waku/2/rs/16/40","/waku/2/rs/16/41"]"#
            let path = "/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F40"
            let ok = TestNode.Answer(status: 200, body: "OK", contentType: "text/plain", connection: "close")
            #expect(try await node.post("/relay/v1/subscriptions", list) == ok)
            #expect(try await node.post("/relay/v1/subscriptions", list, contentType: "text/plain") == ok)
            #expect(try await node.get(path).body == "[]")
            #expect(try await node.send(.delete, "/relay/v1/subscriptions", list) == ok)
            #expect(try await node.send(.delete, "/relay/v1/subscriptions", list) == ok)
            #expect(try await node.get(path).status == 404)
            #expect(try await node.post("/relay/v1/subscriptions", "[]") == ok)
            let last = #"["/waku/2/rs/16/65535"]"#
            #expect(try await node.post("/relay/v1/subscriptions", last) == ok)
            #expect(try await node.send(.delete, "/relay/v1/subscriptions", last) == ok)
        }
    }

    @Test(arguments: [
        "/waku/2/default-waku/proto", "/waku/1/0x12345678/rfc26", "/waku/2/rs/16", "/waku/2/rs/16/65536", "/waku/2/rs/16/-1",
        "/waku/2/rs/16/32/", "waku/2/rs/16/32", "", "/waku/2/rs/x/32",
    ])
    func `subscribes to static shards only, and to all or none`(topic: String) async throws {
        try await withNode { node async throws in
            let list = #"["/waku/2/rs/16/42","\#(topic)"]"#
            for method in [HTTPRequest.Method.post, .delete] {
                let answer = try await node.send(method, "/relay/v1/subscriptions", list)
                #expect(answer.status == 400)
                #expect(answer.body == #"Invalid pubsub topic(s): @["\#(topic)"]"#)
            }
            #expect(try await node.get("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F42").status == 404)
        }
    }

    @Test(arguments: [nil, "", "{}", "[1]", #"["/waku/2/rs/16/42""#, "null"])
    func `a list of topics has to be one`(body: String?) async throws {
        try await withNode { node async throws in
            #expect(try await node.post("/relay/v1/subscriptions", body).status == 400)
        }
    }

    @Test func `a topic without subscription is a 404 without text`() async throws {
        try await withNode { node async throws in
            let answer = try await node.get("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F999")
            #expect(answer.status == 404)
            #expect(answer.body == "")
            #expect(try await node.get("/relay/v1/messages/a%20b").status == 404)
            #expect(try await node.get("/relay/v1/messages/a%20b").body == "")
        }
    }

    @Test(arguments: [
        ("GET", "/relay/v1/messages//waku/2/rs/16/32"), ("GET", "/relay/v1/messages/"), ("GET", "/relay/v1/messages"),
        ("DELETE", path), ("PUT", "/relay/v1/subscriptions"), ("GET", "/relay/v1/subscriptions"), ("GET", "/relay/v2"), ("GET", "/relay"),
    ])
    func `an unknown path or method of the relay is a 404 without text, like a missing subscription`(method: String, path: String)
        async throws
    {
        try await withNode { node async throws in
            let answer = try await node.send(try #require(HTTPRequest.Method(rawValue: method)), path)
            #expect(answer.status == 404)
            #expect(answer.body == "")
        }
    }

    @Test(arguments: [
        "/", "/nowhere", "/Relay/v1/subscriptions", "//relay/v1/messages", "/health/x", "/store/v3/message", "/debug/v2",
        "/messaging/v1/events/received", "/admin/v1/peers",
    ])
    func `a path without a handler is a 404`(path: String) async throws {
        try await withNode { node async throws in
            let answer = try await node.get(path)
            #expect(answer.status == 404)
            #expect(answer.body == "")
        }
    }

    @Test func `the health of a running node has its connection`() async throws {
        try await withNode { node async throws in
            let answer = try await node.get("/health")
            #expect(answer.body.hasPrefix(#"{"nodeHealth":""#))
            #expect(answer.body.contains(#""connectionStatus":""#))
            #expect(answer.body.contains(#""protocolsHealth":[{"#))
        }
    }

    @Test func `receives its own messages, once, and forgets them when they are taken`() async throws {
        try await withNode { node async throws in
            let timestamp = try await node.publish(on: "/test/1/own/proto", more: #","meta":"bWV0YQ==","ephemeral":true"#)
            try await node.publish(on: "/test/1/own/proto", more: #","meta":"bWV0YQ==","ephemeral":true"#)
            let answer = try await node.get(Self.path)
            #expect(answer.contentType == "application/json")
            let expected =
                #"[{"payload":"AQID","contentTopic":"/test/1/own/proto","version":1,"timestamp":\#(timestamp),"#
                + #""meta":"bWV0YQ==","ephemeral":true,"proof":""}]"#
            #expect(answer.body == expected)
            #expect(try await node.get(Self.path).body == "[]")
        }
    }

    @Test func `fills in version, time and the rest`() async throws {
        try await withNode { node async throws in
            let before = node.clock.now().nanoseconds
            #expect(try await node.post(Self.path, #"{"contentTopic":"/test/1/bare/proto","payload":"AQI","timestamp":0}"#).body == "OK")
            let messages = try JSONDecoder().decode([Message].self, from: Data(try await node.get(Self.path).body.utf8))
            let message = try #require(messages.first)
            #expect(message.payload == "AQI=")
            #expect(message.version == 0)
            #expect(message.ephemeral == false)
            #expect(message.meta == nil)
            #expect(message.timestamp >= before)
        }
    }

    struct Message: Decodable {
        var payload: String
        var version: Int
        var timestamp: Int64
        var meta: String?
        var ephemeral: Bool
    }

    @Test func `publishes on subscribed topics only`() async throws {
        try await withNode { node async throws in
            let body = #"{"payload":"AQ==","contentTopic":"/a/1/b/c"}"#
            let answer = try await node.post("/relay/v1/messages/%2Fwaku%2F2%2Frs%2F16%2F999", body)
            #expect(answer.status == 400)
            #expect(answer.body == "Failed to publish: Node not subscribed to topic: /waku/2/rs/16/999")
            #expect(try await node.post(Self.path, body).status == 200)
        }
    }

    @Test(arguments: [
        #"{"contentTopic":"/a/1/b/c"}"#, #"{"payload":"","contentTopic":"/a/1/b/c"}"#, #"{"payload":"AQ=="}"#,
        #"{"payload":"AQ==","contentTopic":" "}"#, #"{"payload":1,"contentTopic":"/a/1/b/c"}"#,
        #"{"payload":["AQ=="],"contentTopic":"/a/1/b/c"}"#, #"{"payload":{"a":"AQ=="},"contentTopic":"/a/1/b/c"}"#,
        #"{"payload":true,"contentTopic":"/a/1/b/c"}"#, #"{"payload":"AQ==","contentTopic":7}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","extraField":"extraValue"}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","payload":"AQ=="}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":"1"}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":1.7e18}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":1.0}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":null}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":[1]}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":9223372036854775808}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":2.1}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":-1}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","ephemeral":1}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c""#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c"} {}"#, "[]", "null", "payload",
    ])
    func `refuses a message that is not one`(body: String) async throws {
        try await withNode { node async throws in
            let answer = try await node.post(Self.path, body)
            #expect(answer.status == 400)
            #expect(answer.body.hasPrefix("Invalid content body, could not decode: Unable to deserialize data: body("))
            #expect(try await node.get(Self.path).body == "[]")
        }
    }

    /// Each differs from a refused one in one thing.
    @Test(arguments: [
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c"}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","timestamp":1}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":2}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","version":0}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","ephemeral":true}"#, #"{"payload":"+/8=","contentTopic":"/a/1/b/c"}"#,
        #"{"payload":"AQ==","contentTopic":"/a/1/b/c","meta":"bWV0YQ=="}"#,
    ])
    func `takes a message that is one`(body: String) async throws {
        try await withNode { node async throws in
            #expect(try await node.post(Self.path, body).status == 200)
        }
    }

    @Test(arguments: [
        #"{"payload":"Hello World!","contentTopic":"/a/1/b/c"}"#, #"{"payload":"-_8=","contentTopic":"/a/1/b/c"}"#,
        #"{"payload":"A","contentTopic":"/a/1/b/c"}"#, #"{"payload":"AQ==","contentTopic":"/a/1/b/c","meta":"Hello World!"}"#,
    ])
    func `takes standard base64 only`(body: String) async throws {
        try await withNode { node async throws in
            let answer = try await node.post(Self.path, body)
            #expect(answer.status == 400)
            #expect(answer.body == "Incorrect base64 string")
        }
    }

    @Test func `looks at the type of a body`() async throws {
        try await withNode { node async throws in
            let body = #"{"payload":"AQ==","contentTopic":"/a/1/b/c"}"#
            #expect(try await node.post(Self.path, body, contentType: "application/json; charset=utf-8").status == 200)
            let wrong = try await node.post(Self.path, body, contentType: "application/xml")
            #expect(wrong.status == 400)
            #expect(wrong.body == "Wrong Content-Type, expected application/json or text/plain")
            #expect(try await node.post(Self.path, nil).status == 400)
        }
    }

    @Test func `refuses content topics as subscriptions where sharding is static`() async throws {
        try await withNode { node async throws in
            let subscribe = try await node.post("/relay/v1/auto/subscriptions", #"["/a/1/b/c"]"#)
            #expect(subscribe.status == 500)
            #expect(subscribe.body.hasPrefix("Subscribe failed:Static sharding is used"))
            let messages = try await node.get("/relay/v1/auto/messages/%2Fa%2F1%2Fb%2Fnever-seen")
            #expect(messages.status == 404)
            #expect(messages.body == "/a/1/b/never-seen")
            let publish = try await node.post("/relay/v1/auto/messages", #"{"payload":"AQ==","contentTopic":"/a/1/b/c"}"#)
            #expect(publish.status == 400)
            #expect(publish.body == "Failed to publish. Autosharding is disabled")
        }
    }
}
