import Bytes
import Foundation
import HTTPClient
import PushProtocol
import StatusCrypto
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery

/// The client with a gorush that is as strict as the real one.
@Suite(.safetyNet) struct GorushClientTests {
    @Test(arguments: ["", "/", "//"]) func `a batch arrives with its fields, whatever slashes end the URL`(suffix: String) async throws {
        try await withStubGorush { stub in
            let client = await GorushClient(stub, prefix: suffix)
            #expect(await client.post([.ios(), .android()]) == .accepted(failures: []))
            let taken = await stub.waitForNotifications(count: 2)
            #expect(taken[0].identifier == "n-1")
            #expect(taken[0].tokens == [String(repeating: "a1", count: 32)])
            #expect(taken[0].platform == 1)
            #expect(taken[0].topic == "im.status.ethereum")
            #expect(taken[0].message == "You have a new message")
            #expect(taken[0].data == ["chat_id": "0x01", "message": "0x", "installation_ids": ["i"]])
            #expect(taken[1].platform == 2)
            #expect(taken[1].topic == nil)
            #expect(taken[1].data == ["encryptedMessage": "0x", "chatId": "0x01", "publicKey": "0x02"])
            let post = try #require(stub.posts.all.first)
            #expect(post.headers.contains { $0.name.lowercased() == "content-type" && $0.value == "application/json" })
            #expect(!post.body.contains("topic\":null"))
        }
    }

    @Test func `a request has the URL's path prefix and the further headers`() async throws {
        let seen = Recorder<String>()
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                seen.append(request)
                connection.respond(body: request.hasPrefix("GET") ? syncConfiguration : oneAccepted)
            }
        }
        let client = GorushClient(.init(url: server.url + "/gorush/", headers: [("Authorization", "Bearer x")]))
        #expect(await client.post([.android()]) == .accepted(failures: []))
        #expect(seen.all.map { $0.prefix { $0 != "\r\n" } } == ["GET /gorush/api/config HTTP/1.1", "POST /gorush/api/push HTTP/1.1"])
        #expect(seen.all.allSatisfy { $0.contains("\r\nAuthorization: Bearer x\r\n") })
    }

    @Test func `an empty batch is not posted`() async throws {
        try await withStubGorush { stub in
            #expect(await GorushClient(stub).post([]) == .accepted(failures: []))
            #expect(stub.posts.all.isEmpty)
        }
    }

    @Test(arguments: [true, false])
    func `a failure has the push's notification id, with tokens hidden or not`(hidesTokens: Bool) async throws {
        try await withStubGorush(.init(hidesTokens: hidesTokens)) { stub in
            stub.fail(token: "dead", with: "Unregistered")
            let client = await GorushClient(stub)
            let answer = await client.post([.ios("n-1", tokens: ["dead"]), .ios("n-2")])
            let token = hidesTokens ? "****" : "dead"
            #expect(answer == .accepted(failures: [GorushFailure(identifier: "n-1", error: "Unregistered", token: DeviceToken(token))]))
            stub.fail(token: "dead", with: nil)
            #expect(await client.post([.ios("n-3", tokens: ["dead"])]) == .accepted(failures: []))
        }
    }

    @Test func `a disabled platform is detected`() async throws {
        try await withStubGorush(.init(enabledPlatforms: [2])) { stub in
            #expect(await GorushClient(stub).post([.ios(), .android()]) == .short(expected: 2, counted: 1))
            #expect(stub.notifications.all.map(\.platform) == [2])
        }
    }

    @Test func `a batch beyond gorush's limit is rejected with the limit`() async throws {
        try await withStubGorush(.init(maximumNotificationCount: 2)) { stub in
            #expect(await GorushClient(stub).post([.ios(), .ios(), .ios()]) == .overLimit(2))
            #expect(stub.notifications.all.isEmpty)
            #expect(await GorushClient(stub).post([.ios(), .ios()]) == .accepted(failures: []))
        }
    }

    @Test(
        arguments: [
            (StubGorush.Misbehaviour.answer(status: 500), GorushResponse.unknown), (.reset, .broken), (.breakOff, .broken),
            (.answer(status: 200, body: #"{"counts":"#), .unknown),
            (.answer(status: 200, body: #"{"counts":0,"logs":[],"success":"ok"}"#), .short(expected: 1, counted: 0)),
            (.answer(status: 200, body: String(repeating: "x", count: 10 << 20)), .unknown),
            (.answer(status: 400), .misconfigured(status: 400)), (.answer(status: 413), .tooLarge),
            (.answer(status: 404), .misconfigured(status: 404)),
            (.answer(status: 429, headers: ["Retry-After": "7"]), .busy(.init(proxyStatus: 429, retryAfter: .seconds(7)))),
            (.answer(status: 502), .busy(.init(proxyStatus: 502))), (.answer(status: 503), .busy(.init(proxyStatus: 503))),
            (.answer(status: 504), .late), (.answer(status: 408), .late),
            (.drip(interval: .milliseconds(1)), .accepted(failures: [])),
        ])
    func `each misbehaviour has its response, and the client recovers`(
        _ misbehaviour: StubGorush.Misbehaviour, answer: GorushResponse
    ) async throws {
        try await withStubGorush { stub in
            stub.next(misbehaviour, takesBatch: true)
            let client = await GorushClient(stub)
            #expect(await client.post([.android()]) == answer)
            #expect(stub.notifications.all.count == 1)
            // The client has recovered.
            #expect(await client.post([.android()]) == .accepted(failures: []))
            #expect(stub.posts.all.count == 2)
        }
    }

    @Test func `a request to a hanging gorush times out`() async throws {
        try await withStubGorush { stub in
            stub.next(.hang)
            #expect(await GorushClient(stub).post([.android()], timeout: .milliseconds(200)) == .timedOut(nil))
        }
    }

    @Test(arguments: [true, false])
    func `a gorush is recognised by its configuration, or by its response to an empty batch`(isBehindProxy: Bool) async throws {
        try await withStubGorush(.init(isBehindProxy: isBehindProxy)) { stub in
            let probe = await GorushClient(stub).probe()
            if isBehindProxy {
                #expect(probe == .silent)
                #expect(stub.posts.all.map(\.body) == [#"{"notifications":[]}"#])
            } else {
                guard case .instance(let instance) = probe else {
                    Issue.record("\(probe)")
                    return
                }
                #expect(instance.core.sync == true && stub.posts.all.isEmpty)
            }
            #expect(await GorushClient(stub, prefix: "/wrong").probe() == .unusable(issue: "gorush cannot be used: it responded with 404"))
        }
    }

    @Test(
        arguments: [
            (401, "", GorushClient.Probe.unusable(issue: "gorush cannot be used: it responded with 401")),
            (200, "<html>", .unusable(issue: "gorush cannot be used: it responded with 200")),
            (
                400, #"{"code":400,"message":"Missing notifications field."}"#,
                .unusable(issue: "gorush cannot be used: it responded with 400")
            ),
            (
                400, "Client sent an HTTP request to an HTTPS server.\n",
                .unusable(issue: "gorush cannot be used: it speaks TLS, so its URL must begin with https")
            ), (503, "", .unreachable(.init(proxyStatus: 503))), (502, "", .unreachable(.init(proxyStatus: 502))),
            (400, #"{"code":400,"message":"Notifications field is empty."}"#, .silent),
        ])
    func `a server that is not a usable gorush is reported with the reason`(
        status: Int, body: String, probe: GorushClient.Probe
    ) async throws {
        let server = try RawServer { connection in
            while connection.readRequest() != nil { connection.respond(status: status, body: body) }
        }
        defer { server.stop() }
        #expect(await GorushClient(.init(url: server.url)).probe() == probe)
    }

    @Test func `a gorush that hides its configuration gets no push, unless it is trusted to be in sync mode`() async throws {
        try await withStubGorush(.init(isBehindProxy: true)) { stub in
            #expect(await GorushClient(stub).post([.android()]) == .unfit(issue: GorushProfile.hiddenIssue))
            #expect(stub.notifications.all.isEmpty)
            let trusting = GorushClient(
                http: HTTPClient(), endpoint: .init(url: await stub.url), probeTimeout: .seconds(600), trustsSyncMode: true)
            #expect(await trusting.post([.android()]) == .accepted(failures: []))
        }
    }

    @Test(arguments: [401, 403, 404])
    func `a gorush that refuses to show its configuration is there, behind a proxy that answers for it`(status: Int) async throws {
        let hasShown = Atomic(false)
        let server = try RawServer { connection in
            while let request = connection.readRequest() {
                if request.hasPrefix("POST") {
                    connection.respond(status: 502, body: "")
                } else if hasShown.exchange(true, ordering: .sequentiallyConsistent) {
                    connection.respond(status: status, body: "")
                } else {
                    connection.respond(body: syncConfiguration)
                }
            }
        }
        defer { server.stop() }
        #expect(await GorushClient(.init(url: server.url)).post([.android()]) == .busy(.init(proxyStatus: 502)))
    }

    @Test func `an absent gorush is unavailable`() async throws {
        // Port 1 has no listener, and the system never assigns it.
        let client = GorushClient(.init(url: "http://127.0.0.1:1"))
        #expect(await client.post([.android()]) == .unavailable(.init()))
        #expect(await client.probe() == .unreachable(.init()))
        #expect(
            await GorushClient(.init(url: "gorush://x")).post([.android()])
                == .unfit(issue: GorushResponse.misconfigurationIssue(status: nil)))
    }
}
