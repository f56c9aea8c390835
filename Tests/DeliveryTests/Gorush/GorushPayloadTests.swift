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

/// The payload that gorush makes from a notification (GORUSH.md §4, §5), byte for byte.
@Suite(.safetyNet) struct GorushPayloadTests {
    private static let chatID = [UInt8](repeating: 0xC4, count: 64)
    private static let chat = "0x" + String(repeating: "c4", count: 64)
    private static let publicKey = "0x" + String(repeating: "77", count: 64)
    private static let identifier = "c6ae4fde-bb65-11ea-b3de-0242ac130004"
    private static let digest = String(repeating: "0", count: 32)

    struct Example: CustomTestStringConvertible, Sendable {
        var name: String
        var platform = TokenType.apn
        var format = GorushDataFormat.rfc71
        var installationID = identifier
        var templates = NotificationTemplates()
        /// The payload with an empty ciphertext.
        var payload: String
        var testDescription: String { name }
    }

    private static let rfc71 = #""chat_id":"\#(chat)","installation_ids":["\#(identifier)"],"message":"0x""#
    private static let androidData =
        #""data":{"chat_id":"\#(chat)","installation_ids":"[\"\#(identifier)\"]","message":"0x"}"#
    private static let shown = #""notification":{"body":"You have a new message"}"#

    static let examples = [
        Example(name: "iOS", payload: #"{"aps":{"alert":"You have a new message"},\#(rfc71)}"#),
        Example(
            name: "iOS as status-go", format: .statusGo,
            payload: #"{"aps":{"alert":"You have a new message"},"chatId":"\#(chat)","encryptedMessage":"0x","#
                + #""publicKey":"\#(publicKey)"}"#),
        Example(
            name: "iOS with an installation id that Go escapes", installationID: "<\"é\n>",
            payload: #"{"aps":{"alert":"You have a new message"},"#
                + #""chat_id":"\#(chat)","installation_ids":["\u003c\"é\n\u003e"],"message":"0x"}"#),
        Example(
            name: "iOS with all settings of an operator",
            templates: .all { template in
                template.fields.set(.text("T & Co"), at: "title")
                template.fields.set(.text("S"), at: "alert", "subtitle")
                template.fields.set(.text("K"), at: "alert", "title-loc-key")
                template.fields.set(.text("default"), at: "sound")
                template.fields.set(.number(7), at: "badge")
                template.fields.set(.text("C"), at: "category")
                template.fields.set(.text("time-sensitive"), at: "interruption_level")
                template.fields.set(.flag(true), at: "mutable_content")
                template.fields.set(.flag(true), at: "content_available")
                template.fields.set(.text("alert"), at: "push_type")
                template.fields.set(.text("high"), at: "priority")
                template.threadsByChat = true
                template.addData("v", named: "kind")
            },
            payload: #"{"aps":{"alert":{"body":"You have a new message","subtitle":"S","title":"T \u0026 Co","title-loc-key":"K"},"#
                + #""badge":7,"category":"C","content-available":1,"interruption-level":"time-sensitive","mutable-content":1,"#
                + #""sound":"default","thread-id":"\#(digest)"},"kind":"v",\#(rfc71)}"#),
        Example(
            name: "iOS with the name of a text",
            templates: .all { $0.text = .localizationKey("NEW_MESSAGE") },
            payload: #"{"aps":{"alert":{"loc-key":"NEW_MESSAGE"}},\#(rfc71)}"#),
        Example(
            name: "Android", platform: .firebase,
            payload: #"{"android":{"notification":{"tag":"\#(digest)"},"ttl":"86400s"},\#(androidData),\#(shown)}"#),
        Example(
            name: "Android with an installation id that Go escapes twice", platform: .firebase, installationID: "<\"",
            payload: #"{"android":{"notification":{"tag":"\#(digest)"},"ttl":"86400s"},"#
                + #""data":{"chat_id":"\#(chat)","installation_ids":"[\"\\u003c\\\"\"]","message":"0x"},\#(shown)}"#),
        Example(
            name: "Android, data only", platform: .firebase, templates: .all { $0.isSilent = true },
            payload: #"{"android":{"ttl":"86400s"},\#(androidData)}"#),
    ]

    @Test(arguments: examples)
    func `a ciphertext is kept in payloads of up to 4,096 bytes, and omitted above`(example: Example) {
        func ciphertext(_ byteCount: Int) -> String {
            let push = AcceptedPush(
                target: Installation(keyHash: Digest64(repeating: 0x77), installationID: example.installationID),
                deduplicationKey: Digest32(repeating: 9), tokenType: example.platform, deviceToken: DeviceToken(iosToken(1)),
                apnTopic: example.platform == .apn ? "im.status.ethereum" : "", type: .message, chatID: Self.chatID,
                message: [UInt8](repeating: 0xEE, count: byteCount))
            let made = GorushGroup.make(
                from: queued([push]), NotificationShapes(example.format, example.templates), oneTokenEach: true)
            return switch made[0].notification.data {
            case .rfc71(_, let message, _), .statusGo(let message, _, _): message
            case .plain: ""
            }
        }
        // Each byte of the ciphertext has two digits.
        let largest = (4_096 - example.payload.utf8.count) / 2
        let largePayloadSizes = [4_060, 4_096].map { ($0 - example.payload.utf8.count) / 2 }
        for size in largePayloadSizes { #expect(ciphertext(size) == "0x" + String(repeating: "ee", count: size)) }
        #expect(ciphertext(largest + 1) == "0x")
    }

    @Test(arguments: [TokenType.apn, .firebase])
    func `devices share a notification while its payload fits into 4,096 bytes`(platform: TokenType) throws {
        let pushes = (0..<300).map { number in
            AcceptedPush(
                target: Installation(keyHash: Digest64(repeating: 0x77), installationID: "installation-\(100 + number)"),
                deduplicationKey: Digest32(repeating: 9), tokenType: platform, deviceToken: DeviceToken(iosToken(number)),
                apnTopic: platform == .apn ? "im.status.ethereum" : "", type: .message, chatID: Self.chatID, message: [])
        }
        let groups = GorushGroup.make(from: queued(pushes), NotificationShapes(.rfc71, NotificationTemplates()), oneTokenEach: false)
        let own = platform == .apn ? #""\#(Self.identifier)""# : #"\"\#(Self.identifier)\""#
        let example = try #require(Self.examples.first { $0.platform == platform })
        let each = (platform == .apn ? 2 : 4) + "installation-100".utf8.count
        let fixed = example.payload.utf8.count - own.utf8.count
        // A comma separates two devices.
        #expect(groups.first?.pushes.count == (4_096 - fixed + 1) / (each + 1))
    }
}
