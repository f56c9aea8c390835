import Foundation
import HTTPClient
import ServiceLifecycle
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The stub's responses, compared with those of gorush v1.22.0 (GORUSH.md §1, §2).
@Suite(.safetyNet) struct StubGorushTests {
    private let http = HTTPClient()

    private func send(_ stub: StubGorush, _ method: HTTPRequest.Method = .post, _ path: String = "/api/push", _ body: String? = nil)
        async throws
        -> (status: Int, text: String, headers: HTTPHeaders)
    {
        let response = try await http.send(
            HTTPRequest(
                method: method, url: await stub.url + path, body: body.map { Array($0.utf8) }, timeout: .seconds(600),
                maximumResponseBodyByteCount: 1 << 20))
        return (response.status, String(decoding: response.body, as: UTF8.self), response.headers)
    }

    private let missing = #"{"code":400,"message":"Missing notifications field."}"#

    @Test(
        arguments: [
            "", "x", "{}", "[]", #"{"notifications":null}"#, #"{"notifications":{}}"#, #"{"notifications":[1]}"#,
            #"{"notifications":[{"tokens":["a"],"platform":"2"}]}"#, #"{"notifications":[{"tokens":["a"],"platform":2},{"tokens":"a"}]}"#,
            #"{"notifications":[{"data":"x"}]}"#, #"{"notifications":[{"android":{"ttl":3600}}]}"#, #"{"notifications":[{"notif_id":7}]}"#,
            #"{"notifications":[{"badge":"1"}]}"#, #"{"notifications":[{"production":1}]}"#, #"{"notifications":[{"topic":[]}]}"#,
        ])
    func `a body that is not a batch is rejected as a whole`(body: String) async throws {
        try await withStubGorush { stub in
            let answer = try await send(stub, .post, "/api/push", body)
            #expect(answer.status == 400)
            #expect(answer.text == missing)
            #expect(stub.notifications.all.isEmpty)
            #expect(stub.posts.all.map(\.body) == [body])
        }
    }

    @Test(
        arguments: [
            (#"{"notifications":[{"tokens":["a"],"platform":1}]}"#, 1),
            (#"{"notifications":[{"tokens":["a"],"platform":1,"topic":"t"}]}"#, 2),
            (#"{"notifications":[{"tokens":["a"],"platform":1,"topic":""}]}"#, 1),
            (#"{"notifications":[{"tokens":["a","b"],"platform":2,"topic":"t"}]}"#, 3),
            (#"{"notifications":[{"tokens":["a"],"platform":0},{"tokens":["a"],"platform":2}]}"#, 1),
            (#"{"notifications":[{"tokens":["a"]}]}"#, 0), (#"{"notifications":[null]}"#, 0),
            (#"{"unknown":1,"notifications":[{"platform":1,"unknown":{},"tokens":null,"sound":{"name":"x"}}]}"#, 0),
        ])
    func `the response counts the notifications of a batch`(body: String, count: Int) async throws {
        try await withStubGorush { stub in
            let answer = try await send(stub, .post, "/api/push", body)
            #expect(answer.status == 200)
            #expect(answer.text == #"{"counts":\#(count),"logs":[],"success":"ok"}"#)
            #expect(answer.headers["Content-Type"] == "application/json; charset=utf-8")
            #expect(answer.headers["X-Gorush-Version"] == "v1.22.0")
        }
    }

    @Test func `an empty batch and one beyond the limit are rejected`() async throws {
        try await withStubGorush { stub in
            let empty = try await send(stub, .post, "/api/push", #"{"notifications":[]}"#)
            #expect(empty.status == 400)
            #expect(empty.text == #"{"code":400,"message":"Notifications field is empty."}"#)
            func sendBatch(of count: Int) async throws -> (status: Int, text: String) {
                let batch = Array(repeating: #"{"tokens":["a"],"platform":2}"#, count: count).joined(separator: ",")
                let answer = try await send(stub, .post, "/api/push", #"{"notifications":[\#(batch)]}"#)
                return (answer.status, answer.text)
            }
            #expect(try await sendBatch(of: 1).status == 200)
            #expect(try await sendBatch(of: 100).status == 200)
            let over = try await sendBatch(of: 101)
            #expect(over.status == 400)
            #expect(over.text == #"{"code":400,"message":"Number of notifications(101) over limit(100)"}"#)
        }
    }

    @Test func `failures are written as Go writes them, with the token hidden or not`() async throws {
        try await withStubGorush { stub in
            let token = "0123456789abcdefghijABCDEFGHIJ"
            stub.fail(token: token, with: "Unregistered")
            stub.fail(token: "short", with: "<&>")
            let body = #"{"notifications":[{"notif_id":"n","tokens":["\#(token)","short"],"platform":1,"message":"a\"b"}]}"#
            let hidden = try await send(stub, .post, "/api/push", body).text
            #expect(
                hidden == #"""
                    {"counts":2,"logs":[{"notif_id":"n","type":"failed-push","platform":"ios","token":"**********abcdefghij**********",\#
                    "message":"a\"b","error":"Unregistered"},{"notif_id":"n","type":"failed-push","platform":"ios","token":"*****",\#
                    "message":"a\"b","error":"\u003c\u0026\u003e"}],"success":"ok"}
                    """#)
            stub.configuration.hidesTokens = false
            #expect(try await send(stub, .post, "/api/push", body).text.contains(#""token":"\#(token)""#))
            let anonymous = body.replacingOccurrences(of: #""notif_id":"n","#, with: "")
            #expect(try await send(stub, .post, "/api/push", anonymous).text.contains(#""logs":[{"type":"failed-push""#))
        }
    }

    @Test func `other paths respond as those of gorush do`() async throws {
        try await withStubGorush(.init(isSync: false, maximumNotificationCount: 7)) { stub in
            let health = try await send(stub, .get, "/healthz")
            #expect(health.status == 200)
            #expect(health.text == "")
            #expect(try await send(stub, .get, "/version").text == #"{"source":"https://github.com/appleboy/gorush","version":"v1.22.0"}"#)
            #expect(try await send(stub, .get, "/").text == #"{"text":"Welcome to notification server."}"#)
            let configuration = try await send(stub, .get, "/api/config").text
            #expect(configuration.contains("core:\n") && configuration.contains("\n  sync: false\n"))
            #expect(configuration.contains("\n  max_notification: 7\n"))
            for (method, path) in [(HTTPRequest.Method.get, "/api/push"), (.post, "//api/push"), (.post, "/API/push"), (.get, "/absent")] {
                let answer = try await send(stub, method, path)
                #expect(answer.status == 404)
                #expect(answer.text == "404 page not found")
            }
            let moved = try await send(stub, .post, "/api/push/")
            #expect(moved.status == 307)
            #expect(moved.headers["Location"] == "/api/push")
        }
    }

    @Test func `misbehaviour comes in the requested order, and then ends`() async throws {
        try await withStubGorush { stub in
            stub.next(.answer(status: 503))
            stub.next(.answer(status: 500), takesBatch: true)
            let body = #"{"notifications":[{"tokens":["a"],"platform":2}]}"#
            var statuses: [Int] = []
            for _ in 0..<3 { statuses.append(try await send(stub, .post, "/api/push", body).status) }
            #expect(statuses == [503, 500, 200])
            #expect(stub.notifications.all.count == 2)
        }
    }
}

@Suite(.safetyNet) struct StubGorushServiceTests {
    @Test func `the service stops on request although a request hangs`() async throws {
        let stub = StubGorush()
        let group = ServiceGroup(services: [stub], logger: quietLogger)
        async let running: Void = group.run()
        stub.next(.hang)
        let client = await GorushClient(stub)
        async let answer = client.post([.android()])
        await stub.posts.wait(for: 1)
        await group.triggerGracefulShutdown()
        #expect(await answer == .unknown)
        try await running
    }
}
