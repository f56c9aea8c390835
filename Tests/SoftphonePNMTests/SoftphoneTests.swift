import Bytes
import Delivery
import Foundation
import HTTPClient
import Logging
import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import HTTPGateways

/// PNM as its document and its clients define it (GATEWAY_PROTOCOLS.md §5).
@Suite(.safetyNet)
struct SoftphoneTests {
    /// An outbox that delivers at once, with configured outcomes.
    final class StubOutbox: SoftphoneOutbox {
        struct State: Sendable {
            var taken: [AcceptedNotification] = []
            var verdicts: [String: FirstAttempt] = [:]
            var isFull = false
        }

        let state = Mutex(State())

        var taken: [GatewayNotification] { state.withLock { $0.taken.map(\.notification) } }

        func deliver(_ notifications: [AcceptedNotification]) async throws -> [FirstAttempt] {
            try state.withLock { state in
                if state.isFull { throw StoreError.queueFull }
                state.taken += notifications
                return notifications.map { state.verdicts[$0.notification.token.text] ?? .sent }
            }
        }
    }

    static let apps: [String: SoftphoneApp] = [
        "com.example.softphone.ios": .init(
            platform: .ios, topic: "com.example.softphone", silentContentTypes: ["application/x-example-receipt"]),
        "com.example.softphone.ios.pushkit": .init(platform: .ios, topic: "com.example.softphone.voip", isPushKit: true),
        "com.example.softphone.android": .init(platform: .android),
    ]

    static let token = "0f744707bebcf74f9b7c25d48e3358945f6aa01da5ddb387462c7eaf61bb78ad"
    static let deadToken = String(repeating: "aa", count: 32)

    func withSoftphone(
        _ outbox: StubOutbox = StubOutbox(), logger: Logger = quietLogger, _ test: (GatewayClient, StubOutbox) async throws -> Void
    ) async throws {
        let gateway = SoftphoneGateway(apps: Self.apps, outbox: outbox, clock: ManualClock(), logger: logger)
        try await withGateways([gateway]) { client in try await test(client, outbox) }
    }

    /// Sends one push.
    func code(_ fields: String, to app: String = "com.example.softphone.ios", token: String = token) async throws -> (
        code: JSONValue?, taken: [GatewayNotification]
    ) {
        var result: (JSONValue?, [GatewayNotification]) = (nil, [])
        try await withSoftphone { client, outbox async throws in
            let body = #"{"AppId":"\#(app)","DeviceToken":"\#(token)",\#(fields)}"#
            let answer = try await client.send(.post, "/pnm2/send", body, type: "application/json")
            result = (answer.json?["code"], outbox.taken)
        }
        return (result.0, result.1)
    }

    // MARK: The vectors

    @Test(arguments: GatewayVectors.all.pnm.cases.map(\.name))
    func `the reference's case`(name: String) async throws {
        let vector = try #require(GatewayVectors.all.pnm.cases.first { $0.name == name })
        let outbox = StubOutbox()
        outbox.state.withLock { state in
            state.verdicts[Self.deadToken] = .deadToken
            if name == "upstream_unregistered" { state.verdicts[Self.token] = .deadToken }
        }
        try await withSoftphone(outbox) { client, outbox async throws in
            let method = HTTPRequest.Method(rawValue: vector.method) ?? .get
            let answer = try await client.send(method, vector.path, method == .get ? nil : vector.body, type: vector.content_type)
            #expect(answer.status == vector.expect_http)
            if let expected = vector.expect_json {
                #expect(answer.contentType == "application/json")
                #expect(answer.json == expected)
            } else {
                #expect(answer.body == "Bad Request\n")
            }
            if let expected = vector.expect_gorush_notifications {
                #expect(outbox.taken.map(\.gorush) == expected)
            }
        }
    }

    // MARK: Tokens

    @Test(
        arguments: [
            (token, token), (token.uppercased(), token), ("D3RHB76890-bfCXUjjNYlF9qoB2l3bOHRix-r2G7eK0", token),
            ("D3RHB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK0", token), ("D3RHB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eK0=", token),
            ("D3RHB76890+bfCXUjjNYlF9qoB2l3bOHRix+r2G7eA=", nil), ("not base64!", nil),
            (String(repeating: "Z", count: 132), String(repeating: "659659", count: 33)), (String(repeating: "Z", count: 136), nil),
        ] as [(String, String?)])
    func `tokens of iPhones are hex or base64`(text: String, decoded: String?) {
        #expect(DeviceToken.decode(text, for: .ios) == decoded.map(DeviceToken.init))
    }

    @Test func `tokens of Android phones are plain or base64`() {
        let token = GatewayVectors.token("fcm").pushToken
        #expect(DeviceToken.decode(token, for: .android)?.text == token)
        #expect(DeviceToken.decode(Data(token.utf8).base64EncodedString(), for: .android)?.text == token)
        #expect(DeviceToken.decode("anything else", for: .android) == "anything else")
        #expect(
            DeviceToken.decode(Data("no colon in it, so no token of Google's".utf8).base64EncodedString(), for: .android)?.text.hasPrefix(
                "bm8")
                == true)
        #expect(DeviceToken.decode("", for: .android) == nil)
    }

    // MARK: Attributes

    @Test(arguments: [("3", 3), ("\"3\"", 3), ("0", 0), ("null", nil), ("\"\"", nil)] as [(String, Int?)])
    func `a badge is a number or its text, and 0 is sent`(badge: String, expected: Int?) async throws {
        let (code, taken) = try await code(#""verb":"NotifyTextMessage","Selector":"s","Badge":\#(badge)"#)
        #expect(code == .number(200))
        #expect(taken.first?.badge == expected)
        #expect(taken.first?.alert == .init(body: "New message"))
    }

    @Test(arguments: [
        #""verb":"NotifyTextMessage","Selector":"s","Badge":"x""#, #""verb":"NotifyTextMessage","Selector":"s","Badge":-1"#,
        #""verb":"NotifyTextMessage","Selector":"s","Badge":1.5"#, #""verb":"NotifyTextMessage","Selector":"s","Badge":[]"#,
        #""verb":"NotifyTextMessage","Selector":7"#, #""verb":"NotifyTextMessage","Selector":"""#,
        #""verb":"NotifyTextMessage","Selector":null"#,
        #""verb":"NotifyTextMessage","Selector":"s","Message":{}"#, #""verb":7"#, #""verb":"notifytextmessage","Selector":"s""#,
        #""verb":"NotifyGenericTextMessage","Message":"""#, #""verb":"NotifyReprovision""#,
    ])
    func `malformed attributes are rejected`(fields: String) async throws {
        let (code, taken) = try await code(fields)
        #expect(code == .number(400))
        #expect(taken.isEmpty)
    }

    /// Each differs from a malformed one in one thing.
    @Test(arguments: [
        #""verb":"NotifyTextMessage","Selector":"s","Badge":"1""#, #""verb":"NotifyTextMessage","Selector":"s","Badge":1"#,
        #""verb":"NotifyTextMessage","Selector":"7""#, #""verb":"NotifyTextMessage","Selector":"s","Message":"""#,
        #""verb":"NotifyGenericTextMessage","Message":"m""#, #""verb":"NotifyReprovision","Selector":"s""#,
    ])
    func `well-formed attributes are accepted`(fields: String) async throws {
        let (code, taken) = try await code(fields)
        #expect(code == .number(200))
        #expect(taken.count == 1)
    }

    @Test func `an id may be a number, and unknown attributes anything`() async throws {
        let (code, taken) = try await code(#""verb":"NotifyTextMessage","Selector":"s","Id":17,"UserName":"bob","aps":{"a":1},"x":[[]]"#)
        #expect(code == .number(200))
        #expect(taken.first?.data == ["verb": "NotifyTextMessage", "Selector": "s", "Id": "17", "UserName": "bob"])
        #expect(taken.first?.alert == .init(title: "bob"))
    }

    @Test(arguments: ["NotifyTextMessage", "NotifyGenericTextMessage"])
    func `PushKit shows no texts`(verb: String) async throws {
        let fields = #""verb":"\#(verb)","Selector":"s","Message":"m""#
        let refused = try await code(fields, to: "com.example.softphone.ios.pushkit")
        #expect(refused.code == .number(400))
        #expect(refused.taken.isEmpty)
        #expect(try await code(fields).code == .number(200))
        let order = #""verb":"NotifyReprovision","Selector":"s","Message":"m""#
        #expect(try await code(order, to: "com.example.softphone.ios.pushkit").code == .number(200))
    }

    @Test func `an invalid token is not reported as dead`() async throws {
        let fields = #""verb":"NotifyReprovision","Selector":"s""#
        #expect(try await code(fields, token: "abc").code == .number(400))
        #expect(try await code(fields).code == .number(200))
    }

    // MARK: Size

    @Test(arguments: ["a", "ä", "👩‍👩‍👧", "<", "\u{2028}"])
    func `a message is cut between characters, so that the payload fits`(character: Character) async throws {
        let message = String(repeating: character, count: 5_000)
        let body =
            #"{"verb":"NotifyTextMessage","AppId":"com.example.softphone.ios","DeviceToken":"\#(Self.token)","Selector":"s","#
            + #""Message":"\#(message)"}"#
        let fields = try #require(JSONFields(Array(body.utf8)))
        let notification = try SoftphonePush(fields, apps: Self.apps).notification
        let shortened = try #require(notification.alert?.body)
        #expect(notification.data["Message"] == shortened)
        #expect(shortened.last == "…" && shortened.dropLast().allSatisfy { $0 == character })
        #expect(PayloadSize.byteCount(notification) <= 4_096)
        // A further character in each copy would exceed the limit.
        #expect(PayloadSize.byteCount(notification) > 4_096 - 2 * (6 + String(character).utf8.count))
    }

    @Test func `a push that is too long even without its message is rejected`() async throws {
        for (byteCount, expected) in [(5_000, 400), (3_800, 200)] {
            let selector = String(repeating: "s", count: byteCount)
            let (code, taken) = try await code(#""verb":"NotifyTextMessage","Selector":"\#(selector)","Message":"m""#)
            #expect(code == .number(Double(expected)))
            #expect(taken.isEmpty == (expected == 400))
        }
    }

    @Test func `a body has at most 1 MiB, and a list at most 1,000 pushes`() async throws {
        try await withSoftphone { client, _ async throws in
            func status(_ body: String) async throws -> Int {
                try await client.send(.post, "/pnm2/multisend", body, type: "application/json").status
            }
            #expect(try await status("[" + Array(repeating: "1", count: 1_000).joined(separator: ",") + "]") == 200)
            #expect(try await status("[" + Array(repeating: "1", count: 1_001).joined(separator: ",") + "]") == 413)
            let longest = "[1]" + String(repeating: " ", count: (1 << 20) - 3)
            #expect(try await status(longest) == 200)
            #expect(try await status(longest + " ") == 413)
            #expect(try await status(String(repeating: "[", count: 1 << 20)) == 400)
        }
    }

    // MARK: Failures

    @Test func `a full push queue rejects each push with 500, and is logged once a minute`() async throws {
        let (outbox, lines) = (StubOutbox(), LogLines())
        outbox.state.withLock { $0.isFull = true }
        try await withSoftphone(outbox, logger: lines.logger) { client, _ async throws in
            let push =
                #"{"AppId":"com.example.softphone.ios","DeviceToken":"\#(Self.token)","verb":"NotifyReprovision","Selector":"s"}"#
            for _ in 0..<3 {
                let answer = try await client.send(.post, "/pnm2/send", push, type: "application/json")
                #expect(answer.status == 200 && answer.json?["code"] == .number(500))
            }
            outbox.state.withLock { $0.isFull = false }
            #expect(try await client.send(.post, "/pnm2/send", push, type: "application/json").json?["code"] == .number(200))
        }
        #expect(lines.all.count { $0.contains("because the push queue is full") } == 1)
        #expect(!lines.all.contains { $0.contains("cannot be stored") })
    }

    @Test func `a failed push gets 500, whatever the other pushes get`() async throws {
        let outbox = StubOutbox()
        outbox.state.withLock { $0.verdicts[Self.token] = .failed }
        try await withSoftphone(outbox) { client, outbox async throws in
            func push(_ token: String) -> String {
                #"{"AppId":"com.example.softphone.ios","DeviceToken":"\#(token)","verb":"NotifyReprovision","Selector":"s"}"#
            }
            let body = "[\(push(Self.token)),7,\(push(Self.deadToken))]"
            let answer = try await client.send(.post, "/pnm2/multisend", body, type: "application/json")
            #expect(answer.status == 200)
            guard case .array(let answers) = try #require(answer.json) else {
                Issue.record("no list")
                return
            }
            #expect(answers.map { $0["code"] } == [.number(500), .number(400), .number(200)])
            outbox.state.withLock { $0.isFull = true }
            let full = try await client.send(.post, "/pnm2/send", push(Self.deadToken), type: "application/json")
            #expect(full.status == 200 && full.json?["code"] == .number(500))
        }
    }

    @Test func `two equal requests are two pushes`() async throws {
        try await withSoftphone { client, outbox async throws in
            let body = #"{"AppId":"com.example.softphone.ios","DeviceToken":"\#(Self.token)","verb":"NotifyReprovision","Selector":"s"}"#
            for _ in 0..<2 { _ = try await client.send(.post, "/pnm2/send", body, type: "application/json") }
            #expect(Set(outbox.state.withLock { $0.taken.map(\.digest) }).count == 2)
        }
    }

    @Test func `other paths are left to other gateways`() async throws {
        try await withSoftphone { client, _ async throws in
            #expect(try await client.send(.post, "/pnm2", "{}", type: "application/json").status == 404)
            #expect(try await client.send(.post, "//pnm2//send", "{}", type: "application/json").json?["code"] == .number(400))
        }
    }
}

extension GatewayNotification {
    /// Returns a notification in the vectors' form. The tests of Delivery cover the post to gorush.
    fileprivate var gorush: [String: JSONValue] {
        var fields: [String: JSONValue] = [
            "tokens": .array([.string(token.text)]), "platform": .number(platform == .ios ? 1 : 2), "priority": .string(priority.rawValue),
            "data": .object(data.mapValues { .string($0) }),
        ]
        guard platform == .ios else {
            fields["message"] = alert?.body.map { .string($0) }
            return fields
        }
        fields["push_type"] = .string(kind.rawValue)
        fields["topic"] = topic.map { .string($0) }
        fields["sound"] = sound.map { .string($0) }
        fields["badge"] = badge.map { .number(Double($0)) }
        fields["thread-id"] = threadID.map { .string($0) }
        fields["content_available"] = isContentAvailable ? .bool(true) : nil
        if let alert {
            fields["alert"] = .object(["title": alert.title, "body": alert.body].compactMapValues { $0 }.mapValues { .string($0) })
        }
        return fields
    }
}
