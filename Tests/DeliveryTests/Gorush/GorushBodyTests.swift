import Bytes
import Foundation
import JSON
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Delivery

/// The posted JSON (PROTOCOL.md §10), compared with the reference's.
@Suite(.safetyNet) struct GorushBodyTests {
    @Test func `the body has the fields of RFC 71 and those that delivery adds`() throws {
        let ios = GorushNotification(
            identifier: "n", tokens: ["a", "b"], platform: .ios, topic: "im.status.ethereum", text: "You have a new message",
            data: .rfc71(chatID: "0x01", message: "0x02", installationIDs: ["i", "j"]), collapseIdentifier: "c",
            expiry: .init(unixSeconds: 1_800_000_000, secondsLeft: 60))
        var android = ios
        android.platform = .android
        android.topic = nil
        let common = #""data":{"chat_id":"0x01","installation_ids":["i","j"],"message":"0x02"}"#
        let rest = #""message":"You have a new message","notif_id":"n""#
        #expect(
            String(decoding: GorushNotification.body([ios, android]), as: UTF8.self) == #"""
                {"notifications":[{"collapse_id":"c",\#(common),"expiration":1800000000,\#(rest),\#
                "platform":1,"tokens":["a","b"],"topic":"im.status.ethereum"},\#
                {"android":{"notification":{"tag":"c"},"ttl":"60s"},\#(common),\#(rest),"platform":2,"tokens":["a","b"]}]}
                """#)
    }

    @Test func `any text survives the encoding of the body`() throws {
        let texts = [
            (0..<0x80).map { String(Unicode.Scalar($0)) }.joined(), "\u{0}\u{7f}\u{80}\u{7ff}\u{800}\u{2028}\u{fffd}\u{10ffff}", "\"\\/",
            "",
        ]
        for text in texts {
            let body = GorushNotification.body([
                .ios(tokens: [text], topic: text), .android(tokens: [text, text]),
            ])
            let read = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: [[String: Any]]])["notifications"]
            #expect(read?.map { $0["tokens"] as? [String] } == [[text], [text, text]])
            #expect(read?[0]["topic"] as? String == text)
        }
        var fields = NotificationTemplate()
        fields.fields = ["a": .number(.min), "b": .flag(true), "c": .list([.flag(false), .object([:]), .list([])])]
        var notification = GorushNotification.ios()
        notification.template = fields
        let text = String(decoding: GorushNotification.body([notification]), as: UTF8.self)
        #expect(text.hasPrefix(#"{"notifications":[{"a":-9223372036854775808,"b":true,"c":[false,{},[]],"#))
    }

    @Test func `the pushes of the main flow are posted as the reference posts them`() throws {
        let bodies = try GoldenFlow.load().mainFlow.steps.flatMap { $0.gorush ?? [] }.map(\.body)
        #expect(!bodies.isEmpty)
        for body in bodies {
            let references = try PostedNotification.parse(body)
            let pushes = try references.map(push)
            let groups = GorushGroup.make(from: queued(pushes), NotificationShapes(.statusGo, NotificationTemplates()), oneTokenEach: true)
            #expect(try posted(groups.map(\.notification)) == references)
        }
    }

    /// Returns the accepted push of a notification's device.
    private func push(_ reference: PostedNotification) throws -> AcceptedPush {
        func bytes(_ key: String) throws -> [UInt8] {
            try #require(reference.data[key].flatMap { Hex.decode(String($0.dropFirst(2))) })
        }
        let types = [
            "You have a new message": PushNotificationType.message, "Someone mentioned you": .mention,
            "Someone requested to join a community you are an admin of": .requestToJoinCommunity,
        ]
        return AcceptedPush(
            target: Installation(keyHash: try #require(Digest64(bytes("publicKey"))), installationID: "i"),
            deduplicationKey: Digest32(repeating: 9),
            tokenType: TokenType(rawValue: Int32(reference.platform)), deviceToken: DeviceToken(reference.tokens.joined()),
            apnTopic: reference.topic ?? "not for Firebase", type: try #require(types[reference.message]), chatID: try bytes("chatId"),
            message: try bytes("encryptedMessage"))
    }

    @Test func `bodies equal those of the reference for any token`() throws {
        let bodies = try GoldenFlow.load().gorushBodies
        #expect(!bodies.isEmpty)
        for body in bodies {
            // gorush drops this platform, and the server never sends it.
            let references = try PostedNotification.parse(body.body).filter { $0.platform != 0 }
            let notifications = try references.map { reference in
                GorushNotification(
                    tokens: reference.tokens.map(DeviceToken.init), platform: try #require(.init(rawValue: reference.platform)),
                    topic: reference.topic,
                    text: .literal(reference.message),
                    data: .statusGo(
                        encryptedMessage: try #require(reference.data["encryptedMessage"]), chatID: try #require(reference.data["chatId"]),
                        publicKey: try #require(reference.data["publicKey"])))
            }
            #expect(try posted(notifications) == references)
        }
    }

    /// Returns the notifications as a reader of the body gets them.
    private func posted(_ notifications: [GorushNotification]) throws -> [PostedNotification] {
        try PostedNotification.parse(String(decoding: GorushNotification.body(notifications), as: UTF8.self))
    }
}
