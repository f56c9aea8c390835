import Foundation
import PushProtocol
import Settings
import TestSupport
import Testing
import Wire

@testable import Delivery

/// `Config/status-app.yaml`: the fields that the reference has sent to the Status app since June 2026.
@Suite(.safetyNet) struct StatusAppTests {
    struct Notification: Sendable {
        var type: PushNotificationType
        var text: String
        var deepLink: String
    }

    private static let notifications = [
        Notification(type: .message, text: "New message in Messenger", deepLink: "status-app://chats"),
        Notification(type: .mention, text: "New mention or reply in Communities", deepLink: "status-app://ac"),
        Notification(
            type: .requestToJoinCommunity, text: "Someone requested to join a community you are an admin of", deepLink: "status-app://ac"),
        Notification(type: .contactRequest, text: "Someone sent you a contact request", deepLink: "status-app://contact-requests"),
    ]

    @Test(arguments: notifications)
    func `the example configuration posts what the reference posts`(expected: Notification) throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../Config/status-app.yaml").path()
        let source = try SettingsSource(file: file, environment: [:], flags: ["gorush.url": "http://gorush"])
        let delivery = try #require(try Settings(source, environment: [:]).delivery)

        /// Returns the notification to a device without the values that vary between devices.
        func posted(_ push: AcceptedPush, _ templates: NotificationTemplates) throws -> NSDictionary {
            var push = push
            push.type = expected.type
            let groups = GorushGroup.make(from: queued([push]), NotificationShapes(delivery.dataFormat, templates), oneTokenEach: true)
            let body = Data(GorushNotification.body(groups.map(\.notification)))
            let json = try #require(try JSONSerialization.jsonObject(with: body) as? [String: [[String: Any]]])
            var notification = try #require(json["notifications"]?.first)
            (notification["tokens"], notification["topic"]) = (nil, nil)
            var data = try #require(notification["data"] as? [String: String])
            #expect(data.removeValue(forKey: "publicKey") != nil)
            notification["data"] = data
            return notification as NSDictionary
        }
        let ios: NSDictionary = [
            "platform": 1, "message": expected.text, "content_available": true, "sound": "default", "priority": "high",
            "push_type": "alert",
            "data": ["deepLink": expected.deepLink, "chatId": "0x0102", "encryptedMessage": "0x030405"],
        ]
        let android: NSDictionary = [
            "platform": 2, "message": expected.text, "data": ["chatId": "0x0102", "encryptedMessage": "0x030405"],
        ]
        #expect(try posted(iosPush(1), delivery.ios) == ios)
        #expect(try posted(androidPush(2), delivery.android) == android)
    }
}
