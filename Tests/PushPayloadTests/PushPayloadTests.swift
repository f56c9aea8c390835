import Bytes
import Foundation
import PushClient
import PushPayload
import StatusCrypto
import TestSupport
import Testing

/// Notifications as Apple and Google deliver them, from both formats of the data that servers hand to gorush (GORUSH.md §4).
@Suite(.safetyNet)
struct PushPayloadTests {
    private let installation = "b6ae4fde-bb65-11ea-b3de-0242ac130004"
    private let chat = ChatID("family")

    private func hex(_ bytes: [UInt8]) -> String { "0x" + bytes.map { String(format: "%02x", $0) }.joined() }

    /// Decodes a notification's JSON as Apple's system does.
    private func userInfo(_ json: String) throws -> [AnyHashable: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    @Test func `Apple's notification in the specification's format is decoded, and its chat is found`() throws {
        let push = try #require(
            PushPayload(
                userInfo: userInfo(
                    """
                    {"aps": {"alert": "You have a new message"}, "chat_id": "\(hex(chat.hash))", "message": "0xC0ffee",
                     "installation_ids": ["\(installation)"], "deepLink": "status-app://chats"}
                    """)))
        let chats = [ChatID("noise"), chat]
        #expect(chats.first { $0.hash == push.chatHash } == chat && chat.hash.count == 64)
        #expect(push.ciphertext == [0xc0, 0xff, 0xee] && push.installationIDs == [installation] && push.keyHash.isEmpty)
        #expect(push.deepLink == "status-app://chats")
        #expect(!"\(push)".contains(installation) && "\(push)" == "<push with 3 bytes of ciphertext>")
    }

    @Test func `Google's message in the specification's format has its list as JSON in a string`() throws {
        let ids = "[\"\(installation)\",\"c6ae4fde-bb65-11ea-b3de-0242ac130004\"]"
        let push = try #require(PushPayload(data: ["chat_id": hex(chat.hash), "message": "0x", "installation_ids": ids]))
        #expect(push.chatHash == chat.hash && push.ciphertext.isEmpty && push.deepLink == nil)
        #expect(push.installationIDs == [installation, "c6ae4fde-bb65-11ea-b3de-0242ac130004"])
    }

    @Test func `status-go's format is decoded from both services`() throws {
        let data = ["chatId": hex(chat.hash), "encryptedMessage": "0x0102", "publicKey": hex([7, 8]), "deepLink": "status-app://ac"]
        var userInfo: [AnyHashable: Any] = ["aps": ["alert": ["title": "New message"]]]
        for (name, value) in data { userInfo[name] = value }
        let (apple, google) = (try #require(PushPayload(userInfo: userInfo)), try #require(PushPayload(data: data)))
        #expect(apple == google)
        #expect(apple.chatHash == chat.hash && apple.ciphertext == [1, 2] && apple.keyHash == [7, 8])
        #expect(apple.installationIDs.isEmpty && apple.deepLink == "status-app://ac")
    }

    @Test(arguments: [
        [:], ["aps": "text"], ["deepLink": "status-app://chats"], ["message": "0xabc"], ["message": "abcd"], ["message": "0xzz"],
        ["chat_id": "00", "message": "\u{0}"], ["message": "0x" + String(repeating: "00", count: 4_096)],
        ["installation_ids": "[\"a\\u0062\"]"], ["installation_ids": "[a]"], ["installation_ids": "[\"a\",]"], ["installation_ids": "["],
        ["installation_ids": "[" + String(repeating: "\"\",", count: 100) + "\"\"]"], ["encryptedMessage": "0x1"],
    ])
    func `a notification of another origin, and one without a readable field, is nil`(data: [String: String]) {
        #expect(PushPayload(data: data) == nil)
        #expect(PushPayload(userInfo: ["message": 7]) == nil)
    }

    /// Each differs from one of the test before in one thing.
    @Test(arguments: [
        ["aps": "text", "message": "0x"], ["deepLink": "status-app://chats", "message": "0x"], ["message": "0xabcd"], ["message": "0xff"],
        ["message": "0x" + String(repeating: "00", count: 4_095)], ["installation_ids": "[\"ab\"]"], ["installation_ids": "[\"a\"]"],
        ["installation_ids": "[]"], ["installation_ids": "[" + String(repeating: "\"\",", count: 99) + "\"\"]"],
        ["encryptedMessage": "0x12"],
    ])
    func `a notification whose fields are whole is decoded`(data: [String: String]) throws {
        #expect(try #require(PushPayload(data: data)).damagedFields.isEmpty)
        #expect(PushPayload(userInfo: ["message": "0x07"]) != nil)
    }

    @Test(arguments: ["[\"a\", \"b\"]", " [ \"a\" ,\n\t\"b\" ] "])
    func `a list may have spaces`(list: String) throws {
        let push = try #require(PushPayload(data: ["installation_ids": list]))
        #expect(push.installationIDs == ["a", "b"] && push.damagedFields.isEmpty)
    }

    @Test(arguments: [
        ("chat_id", "family"), ("message", "0x1"), ("installation_ids", "phone"), ("deepLink", String(repeating: "x", count: 8_193)),
    ])
    func `a damaged field costs only itself, and is named`(field: String, value: String) throws {
        let whole = [
            "chat_id": hex(chat.hash), "message": "0xc0ff", "installation_ids": "[\"a\"]", "deepLink": "status-app://chats",
        ]
        let expected = try #require(PushPayload(data: whole))
        var data = whole
        data[field] = value
        let push = try #require(PushPayload(data: data))
        #expect(push.damagedFields == [field])
        #expect(push.chatHash == (field == "chat_id" ? [] : expected.chatHash))
        #expect(push.ciphertext == (field == "message" ? [] : expected.ciphertext))
        #expect(push.installationIDs == (field == "installation_ids" ? [] : expected.installationIDs))
        #expect(push.deepLink == (field == "deepLink" ? nil : expected.deepLink))
        // Apple delivers values of any type.
        var userInfo: [AnyHashable: Any] = whole
        userInfo[field] = 7
        #expect(try #require(PushPayload(userInfo: userInfo)).damagedFields == [field])
    }

    @Test func `status-go's format loses no push for its owner's hash either`() throws {
        let push = try #require(PushPayload(data: ["chatId": hex(chat.hash), "encryptedMessage": "0x01", "publicKey": "0x1"]))
        #expect(push.chatHash == chat.hash && push.ciphertext == [1] && push.keyHash.isEmpty && push.damagedFields == ["publicKey"])
    }

    // MARK: Seen pushes

    private func push(_ number: Int, chat: ChatID? = nil) throws -> PushPayload {
        let message = hex((0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) })
        return try #require(PushPayload(data: ["chat_id": hex((chat ?? self.chat).hash), "message": message]))
    }

    @Test func `a push is new once, also in another process, and again after 48 h`() throws {
        let folder = try TemporaryFolder()
        let file = URL(filePath: folder.path("seen"))
        let now = Date(timeIntervalSince1970: 1_700_000_000)
        #expect(try SeenPushes(file: file).insert(push(1), now: now))
        #expect(try !SeenPushes(file: file).insert(push(1), now: now))
        #expect(try SeenPushes(file: file).insert(push(2), now: now))
        #expect(try SeenPushes(file: file).insert(push(1, chat: ChatID("other")), now: now))
        #expect(try !SeenPushes(file: file).insert(push(1), now: now.addingTimeInterval(SeenPushes.lifetime)))
        #expect(try SeenPushes(file: file).insert(push(1), now: now.addingTimeInterval(SeenPushes.lifetime + 1)))
        // Without ciphertext nothing tells two messages of a chat apart.
        let bare = try #require(PushPayload(data: ["chat_id": hex(chat.hash), "message": "0x"]))
        for _ in 1...2 { #expect(try SeenPushes(file: file).insert(bare, now: now)) }
    }

    @Test func `the newest 1,000 pushes are remembered, in 40 KB`() throws {
        let folder = try TemporaryFolder()
        let seen = SeenPushes(file: URL(filePath: folder.path("seen")))
        for number in 0...SeenPushes.maximumCount { #expect(try seen.insert(push(number))) }
        #expect(try Data(contentsOf: URL(filePath: folder.path("seen"))).count == 40_000)
        #expect(try !seen.insert(push(1)))
        #expect(try seen.insert(push(0)))
    }

    @Test func `a damaged file counts as empty, and a folder that does not exist is an error`() throws {
        let folder = try TemporaryFolder()
        try folder.write("damaged", to: "seen")
        #expect(try SeenPushes(file: URL(filePath: folder.path("seen"))).insert(push(1)))
        #expect(try !SeenPushes(file: URL(filePath: folder.path("seen"))).insert(push(1)))
        #expect(throws: (any Error).self) { try SeenPushes(file: URL(filePath: folder.path("none/seen"))).insert(push(1)) }
    }

    @Test(arguments: [1, 30, 31, 32, 47, 48, 55, 56, 64, 111, 112, 119, 120, 2_000])
    func `the digest is the SHA-256 of chat and ciphertext with their lengths`(count: Int) throws {
        let folder = try TemporaryFolder()
        let ciphertext = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
        let push = try #require(PushPayload(data: ["message": hex(ciphertext)]))
        #expect(try SeenPushes(file: URL(filePath: folder.path("seen"))).insert(push))
        let expected = SHA256.hash([0, 0, 0, 0, 0, 0, UInt8(count >> 8), UInt8(count & 255)] + ciphertext)
        #expect(try [UInt8](Data(contentsOf: URL(filePath: folder.path("seen")))).suffix(32) == expected.bytes[...])
    }
}
