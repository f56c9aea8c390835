import Bytes
import Foundation
import JSON
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import Delivery

/// The grouping of devices into notifications, and their content (PROTOCOL.md §10).
@Suite(.safetyNet) struct GorushGroupingTests {
    private func make(
        _ pushes: [AcceptedPush], _ format: GorushDataFormat = .rfc71, templates: NotificationTemplates = NotificationTemplates(),
        oneTokenEach: Bool = false
    ) -> [GorushGroup] {
        GorushGroup.make(from: queued(pushes), NotificationShapes(format, templates), oneTokenEach: oneTokenEach)
    }

    private func push(_ name: String, _ change: (inout AcceptedPush) -> Void = { _ in }) -> AcceptedPush {
        somePush {
            $0.target.installationID = name
            $0.deviceToken = "token-\(name)"
            change(&$0)
        }
    }

    @Test func `devices that share everything become one notification in the shape of RFC 71`() throws {
        let groups = make([push("a"), push("b")])
        #expect(groups.map(\.indexes) == [[0, 1]])
        let chat = "0x" + String(repeating: "c4", count: 64)
        try expect(
            groups,
            encodedAs: """
                {"notifications":[{"tokens":["token-a","token-b"],"platform":1,"topic":"im.status.ethereum",
                "message":"You have a new message",
                "data":{"chat_id":"\(chat)","message":"0x010203","installation_ids":["a","b"]}}]}
                """)
    }

    @Test func `status-go has a notification for each device`() throws {
        let groups = make([push("a"), push("b")], .statusGo)
        #expect(groups.map(\.indexes) == [[0], [1]])
        let data = """
            {"encryptedMessage":"0x010203","chatId":"0x\(String(repeating: "c4", count: 64))",
            "publicKey":"0x\(String(repeating: "77", count: 64))"}
            """
        let rest = #""platform":1,"topic":"im.status.ethereum","message":"You have a new message","data":\#(data)"#
        try expect(groups, encodedAs: #"{"notifications":[{"tokens":["token-a"],\#(rest)},{"tokens":["token-b"],\#(rest)}]}"#)
    }

    @Test func `empty bytes are 0x`() {
        let empty = push("a") {
            $0.chatID = []
            $0.message = []
        }
        #expect(make([empty])[0].notification.data == .rfc71(chatID: "0x", message: "0x", installationIDs: ["a"]))
        let publicKey = "0x" + String(repeating: "77", count: 64)
        #expect(make([empty], .statusGo)[0].notification.data == .statusGo(encryptedMessage: "0x", chatID: "0x", publicKey: publicKey))
    }

    @Test(arguments: GorushDataFormat.allCases)
    func `Firebase never has a topic`(format: GorushDataFormat) throws {
        let group = make([push("a") { $0.tokenType = .firebase }], format)[0]
        #expect(group.notification.platform == .android)
        #expect(group.notification.topic == nil)
        let body = Data(GorushNotification.body([group.notification]))
        let json = try JSONSerialization.jsonObject(with: body) as? [String: [[String: Any]]]
        let notification = try #require(json?["notifications"]?.first)
        #expect(notification["topic"] == nil)
        #expect(notification["platform"] as? Int == 2)
    }

    @Test(
        arguments: [
            { $0.target.keyHash = Digest64(repeating: 1) }, { $0.tokenType = .firebase }, { $0.apnTopic = "other" }, { $0.type = .mention },
            { $0.chatID = [1] }, { $0.message = [1] },
        ] as [@Sendable (inout AcceptedPush) -> Void])
    func `devices with different values are not grouped`(change: @Sendable (inout AcceptedPush) -> Void) {
        let groups = make([push("a"), push("b", change), push("c"), push("d", change)])
        #expect(groups.map(\.indexes) == [[0, 2], [1, 3]])
        #expect(groups.map(\.notification.tokens) == [["token-a", "token-c"], ["token-b", "token-d"]])
    }

    @Test func `Android devices with different topics are grouped`() {
        let firebase = ["x", "y"].map { topic in
            push(topic) {
                $0.tokenType = .firebase
                $0.apnTopic = topic
            }
        }
        #expect(make(firebase).map(\.indexes) == [[0, 1]])
    }

    @Test func `notifications have one token each if delivery needs it`() {
        let groups = make([push("a"), push("b")], oneTokenEach: true)
        #expect(groups.map(\.indexes) == [[0], [1]])
        #expect(groups.map(\.notification.tokens) == [["token-a"], ["token-b"]])
        let chat = "0x" + String(repeating: "c4", count: 64)
        #expect(groups[1].notification.data == .rfc71(chatID: chat, message: "0x010203", installationIDs: ["b"]))
    }

    @Test(arguments: [
        (PushNotificationType.message, "You have a new message"), (.mention, "Someone mentioned you"),
        (.requestToJoinCommunity, "Someone requested to join a community you are an admin of"),
        (.contactRequest, "Someone sent you a contact request"), (PushNotificationType(rawValue: 77), "You have a new message"),
    ])
    func `each type has its text, and an unknown type has that of a message`(type: PushNotificationType, text: String) {
        #expect(make([push("a") { $0.type = type }])[0].notification.text == .literal(text))
    }

    @Test func `each type has its template, and types with equal ones are grouped`() {
        let templates = NotificationTemplates { kind in
            var template = NotificationTemplate()
            template.text = kind == .requestToJoinCommunity ? "r" : "m"
            if kind == .contactRequest { template.addData("d", named: "n") }
            return template
        }
        let types: [PushNotificationType] = [.message, .requestToJoinCommunity, .mention, .contactRequest]
        let groups = make(types.enumerated().map { number, type in push("\(number)") { $0.type = type } }, templates: templates)
        #expect(groups.map(\.notification.text) == ["m", "r", "m"])
        #expect(groups.map(\.indexes) == [[0, 2], [1], [3]])
        #expect(groups.map(\.notification.template.data) == [[:], [:], ["n": "d"]])
    }

    @Test func `an empty batch has no notification`() {
        #expect(make([]).isEmpty)
    }

    @Test(arguments: GorushDataFormat.allCases)
    func `a thousand devices are split into notifications of valid size, each device in exactly one`(format: GorushDataFormat) throws {
        let pushes = (0..<1_000).map { number in push("c6ae4fde-bb65-11ea-b3de-0242ac130004" + "-\(number)") }
        let groups = make(pushes, format)
        #expect(groups.flatMap(\.indexes).sorted() == Array(0..<1_000))
        for group in groups {
            #expect(group.notification.tokens == group.indexes.map { pushes[$0].deviceToken })
            #expect(try payloadByteCount(group) <= 4_096)
        }
        #expect(groups.count <= (format == .rfc71 ? 20 : 1_000))
    }

    @Test func `a notification has at most 500 tokens`() {
        let pushes = (0..<1_000).map { number in push("") { $0.deviceToken = "\(number)" } }
        #expect(make(pushes).map(\.indexes.count) == [500, 500])
    }

    @Test(arguments: GorushDataFormat.allCases, ["plain", String(repeating: "<", count: 128)])
    func `a ciphertext that exceeds any payload is omitted`(format: GorushDataFormat, installationID: String) throws {
        func message(_ byteCount: Int) throws -> String {
            let group = make([push(installationID) { $0.message = Array(repeating: 0xEE, count: byteCount) }], format)[0]
            #expect(try payloadByteCount(group) <= 4_096)
            return group.notification.data.ciphertext
        }
        #expect(try message(1_024) == "0x" + String(repeating: "ee", count: 1_024))
        #expect(try message(2_048) == "0x")
        #expect(try message(1 << 20) == "0x")
    }

    @Test(arguments: GorushDataFormat.allCases)
    func `merged fields count towards the size, beyond which the ciphertext is dropped`(format: GorushDataFormat) throws {
        let templates = NotificationTemplates.all { template in
            template.addData(String(repeating: "<", count: 100), named: "custom")
            template.fields.set(.text(String(repeating: "é", count: 200)), at: "title")
            template.threadsByChat = true
        }
        for byteCount in stride(from: 1_000, to: 2_000, by: 100) {
            let group = make([push("a") { $0.message = [UInt8](repeating: 1, count: byteCount) }], format, templates: templates)[0]
            #expect(try payloadByteCount(group) <= 4_096)
            let isLeftOut = group.notification.data.ciphertext == "0x"
            #expect(isLeftOut == (byteCount > 1_300))
        }
    }

    /// Returns the size of APNs' payload (GORUSH.md §5). gorush is in Go, which escapes `<`, `>` and `&`.
    private func payloadByteCount(_ group: GorushGroup) throws -> Int {
        var notification = group.notification
        (notification.tokens, notification.topic) = ([], nil)
        let json = String(decoding: GorushNotification.body([notification]), as: UTF8.self)
        let angles = json.filter { "<>&".contains($0) }.count
        return #"{"aps":{"alert":},}"#.utf8.count + json.utf8.count
            - #"{"notifications":[{"data":{},"message":,"platform":1,"tokens":[]}]}"#.utf8.count + 5 * angles
    }

    private func expect(
        _ groups: [GorushGroup], encodedAs json: String, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let encoded = Data(GorushNotification.body(groups.map(\.notification)))
        let expected = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? NSDictionary
        #expect(try JSONSerialization.jsonObject(with: encoded) as? NSDictionary == expected, sourceLocation: sourceLocation)
    }
}

/// Returns pushes in the outbox, numbered in order.
func queued(_ pushes: [AcceptedPush]) -> [QueuedPush] {
    pushes.enumerated().map { QueuedPush(id: Int64($0), request: 1, push: $1, acceptedAt: World.start) }
}

extension GorushNotification.Content {
    fileprivate var ciphertext: String {
        switch self {
        case .rfc71(_, let message, _), .statusGo(let message, _, _): message
        case .plain: ""
        }
    }

    fileprivate var chat: String {
        switch self {
        case .rfc71(let chat, _, _), .statusGo(_, let chat, _): chat
        case .plain: ""
        }
    }
}

extension GorushGroup {
    fileprivate var indexes: [Int] { pushes.map { Int($0.id) } }
}

private func somePush(_ change: (inout AcceptedPush) -> Void = { _ in }) -> AcceptedPush {
    var push = AcceptedPush(
        target: Installation(keyHash: Digest64(repeating: 0x77), installationID: "c6ae4fde-bb65-11ea-b3de-0242ac130004"),
        deduplicationKey: Digest32(repeating: 9), tokenType: .apn, deviceToken: DeviceToken(String(repeating: "ab", count: 32)),
        apnTopic: "im.status.ethereum",
        type: .message, chatID: Array(repeating: 0xC4, count: 64), message: [1, 2, 3])
    change(&push)
    return push
}

/// Pushes that gorush cannot accept (GORUSH.md §3, §4).
@Suite(.safetyNet) struct UnsendablePushTests {
    private static let digits = String(repeating: "aF09", count: 16)

    private static let obstacles: [(TokenType, String, String, UnsendablePush?)] = [
        (TokenType.apn, digits, "im.status-1.Ethereum", UnsendablePush?.none), (.apn, digits, "", nil),
        (.apn, digits + digits, "a", nil), (.apn, String(digits.dropLast()), "a", .deviceToken),
        (.apn, String(digits.dropLast(2)), "a", .deviceToken), (.apn, digits + "a", "a", .deviceToken),
        (.apn, digits.dropLast(2) + "/.", "a", .deviceToken), (.apn, "", "a", .deviceToken),
        (.apn, String(repeating: "a", count: 200), "a", nil), (.apn, String(repeating: "a", count: 202), "a", .deviceToken),
        (.apn, digits, "a/b", .apnTopic), (.apn, digits, "a\r\nb", .apnTopic),
        (.apn, digits, String(repeating: "a", count: 255), nil), (.apn, digits, String(repeating: "a", count: 256), .apnTopic),
        (.firebase, "fKx:APA91b_-0", "what ever", nil), (.firebase, "", "", .deviceToken), (.firebase, "fcm<token>&\"", "", nil),
        (.firebase, "a/b", "", nil), (.firebase, "ä", "", nil),
        (.firebase, String(repeating: "a", count: 4_096), "", nil), (.firebase, String(repeating: "a", count: 4_097), "", .deviceToken),
        (.unknown, digits, "a", .platform), (TokenType(rawValue: 3), digits, "a", .platform),
    ]

    @Test(arguments: obstacles)
    func `a push with an invalid device token, topic or platform has an obstacle`(
        type: TokenType, token: String, topic: String, obstacle: UnsendablePush?
    ) {
        let push = somePush {
            $0.tokenType = type
            $0.deviceToken = DeviceToken(token)
            $0.apnTopic = topic
        }
        #expect(UnsendablePush(push) == obstacle)
    }

    @Test(arguments: GorushDataFormat.allCases)
    func `no payload is too long: the ciphertext is omitted first, then the chat id`(format: GorushDataFormat) throws {
        for (chatByteCount, messageByteCount) in [(64, 100), (64, 4_000), (1_500, 1_500), (1_800, 10), (3_000, 10), (1 << 20, 1 << 20)] {
            let push = somePush {
                $0.chatID = [UInt8](repeating: 1, count: chatByteCount)
                $0.message = [UInt8](repeating: 2, count: messageByteCount)
            }
            let made = GorushGroup.make(from: queued([push]), NotificationShapes(format, NotificationTemplates()), oneTokenEach: true)
            let notification = try #require(made.first?.notification)
            var bytes: [UInt8] = []
            JSON.object(notification.members).write(to: &bytes)
            #expect(bytes.count <= GorushPayload.maximumByteCount)
            #expect((notification.data.chat == "0x") == (chatByteCount > 1_800))
            #expect((notification.data.ciphertext == "0x") == (messageByteCount > 100))
        }
    }

    @Test(arguments: GorushDataFormat.allCases)
    func `no key is one that Apple or Google reserves`(format: GorushDataFormat) throws {
        let made = GorushGroup.make(from: queued([somePush()]), NotificationShapes(format, NotificationTemplates()), oneTokenEach: true)
        guard case .object(let data)? = made[0].notification.members["data"] else {
            Issue.record()
            return
        }
        for key in data.keys {
            #expect(!["aps", "from", "message_type", "notification"].contains(key) && !key.hasPrefix("google") && !key.hasPrefix("gcm"))
        }
    }
}
