import Bytes
import StatusCrypto
import Wire

extension Rule {
    static let gorush: [Rule] = [
        delivery(
            "delivery.ios", .must, "Handle Notification Request", "PROTOCOL.md §10",
            "A push to an iOS device is posted to gorush once, with platform 1, the device token, the apn_topic and a text."
        ) { play in
            let alice = try await play.registeredClient()
            try await play.client().push(to: alice).expectReports(nil)
            let notification = try await play.expectNotification(to: alice.deviceToken)
            try expect(notification.platform == 1, "expected platform 1, found \(notification.platform)")
            try expect(notification.topic == play.apnTopic, "the topic is not the registered apn_topic")
            try expect(notification.message?.isEmpty == false, "the notification has no message, which the phone would show")
            try await play.expectNotifications(1, to: alice.deviceToken)
        },
        delivery(
            "delivery.android", .must, "Handle Notification Request", "PROTOCOL.md §10",
            "A push to an Android device is posted with platform 2, the device token and a text."
        ) { play in
            let alice = try await play.registeredClient { $0.tokenType = .firebase }
            try await play.client().push(to: alice).expectReports(nil)
            let notification = try await play.expectNotification(to: alice.deviceToken)
            try expect(notification.platform == 2, "expected platform 2, found \(notification.platform)")
            try expect(notification.message?.isEmpty == false, "the notification has no message, which the phone would show")
        },
        delivery(
            "delivery.android-topic", .open, nil, "PROTOCOL.md §10",
            "A notification for Android has no topic, not even the registered one: gorush would broadcast it."
        ) { play in
            let alice = try await play.registeredClient { $0.tokenType = .firebase }
            try await play.client().push(to: alice).expectReports(nil)
            let topic = try await play.expectNotification(to: alice.deviceToken).topic
            try expect(
                topic == nil, "the notification has another topic than the registered one",
                departure: "the notification has the registered topic, as in the reference", if: ["", play.apnTopic].contains(topic))
        },
        delivery(
            "delivery.data", .must, "Handle Notification Request", "PROTOCOL.md §10",
            "data carries chat_id, message and installation_ids, in hex with 0x."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let sent = bob.notification(to: alice)
            try await bob.push([sent]).expectReports(nil)
            try await play.expectData(of: sent, to: alice)
        },
        delivery(
            "delivery.empty-data", .open, nil, "PROTOCOL.md §10",
            "An empty chat_id or message is 0x in data."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let sent = bob.notification(to: alice) {
                $0.chatID = []
                $0.message = []
            }
            try await bob.push([sent]).expectReports(nil)
            try await play.expectData(of: sent, to: alice)
        },
        delivery(
            "delivery.two-devices", .must, "Handle Notification Request", "PROTOCOL.md §10",
            "A request for two devices of an owner notifies each of them once."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let second = (installation: play.uuid(), device: Hex.encode(play.bytes(32)))
            try await alice.register {
                $0.installationID = second.installation
                $0.deviceToken = DeviceToken(second.device)
            }.expectSuccess()
            let first = bob.notification(to: alice)
            var other = first
            other.installationID = second.installation
            try await bob.push([first, other]).expectReports(nil, nil)
            try await play.expectNotifications(1, to: alice.deviceToken, second.device)
        },
        delivery(
            "delivery.owners-apart", .open, nil, "PROTOCOL.md §10",
            "Devices of two owners never share a notification: each would learn of the other."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), try await play.registeredClient(), play.client())
            let first = bob.notification(to: alice)
            let other = bob.notification(to: carol) {
                $0.chatID = first.chatID
                $0.message = first.message
            }
            try await bob.push([first, other]).expectReports(nil, nil)
            for (owner, stranger) in [(alice, carol), (carol, alice)] {
                let notification = try await play.expectNotification(to: owner.deviceToken)
                try expect(
                    !notification.tokens.contains(stranger.deviceToken)
                        && notification.data?.installationIDs?.contains(stranger.installationID) != true,
                    "two owners share a notification")
            }
        },
        delivery(
            "delivery.wrong-token", .must, "Handle Notification Request", "PROTOCOL.md §9",
            "A push request with another access token posts nothing."
        ) { play in
            let (alice, wrong) = (try await play.registeredClient(), play.uuid())
            try await play.client().push(to: alice) { $0.accessToken = AccessToken(wrong) }.expectReports(.wrongToken)
            try await play.expectNotifications(0, to: alice.deviceToken)
        },
        delivery(
            "delivery.unregistered", .must, "Unregistering with a Server", "PROTOCOL.md §9",
            "A push request after an unregistration posts nothing."
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: 2).expectSuccess()
            try await play.client().push(to: alice).expectReports(.notRegistered)
            try await play.expectNotifications(0, to: alice.deviceToken)
        },
        delivery(
            "delivery.new-device-token", .must, "Re-registering with a Server", "PROTOCOL.md §9",
            "After a registration with a new device token pushes go to that one alone."
        ) { play in
            let alice = try await play.registeredClient()
            let device = Hex.encode(play.bytes(32))
            try await alice.register {
                $0.version = 2
                $0.deviceToken = DeviceToken(device)
            }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
            try await play.expectNotifications(1, to: device)
            try await play.expectNotifications(0, to: alice.deviceToken)
        },
        delivery(
            "delivery.repeated-request", .must, "Handle Notification Request", "PROTOCOL.md §9",
            "A push request that is sent again notifies the device once."
        ) { play in
            let (alice, bob, messageID) = (try await play.registeredClient(), play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            try await bob.send(data: data)
            try await play.expectNotifications(1, to: alice.deviceToken)
        },
        delivery(
            "delivery.repeated-message", .open, nil, "PROTOCOL.md §9",
            "Two senders that request a push for the same message_id notify the device once."
        ) { play in
            let (alice, messageID) = (try await play.registeredClient(), play.bytes(32))
            for _ in 0..<2 {
                let sender = play.client()
                try await sender.push([sender.notification(to: alice)], messageID: messageID).expectReports(nil)
            }
            try await play.expectNotifications(1, to: alice.deviceToken)
        },
        delivery(
            "delivery.named-twice", .open, nil, "PROTOCOL.md §9",
            "A device that a request names twice is notified once."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.push([bob.notification(to: alice), bob.notification(to: alice)]).expectReports(nil, nil)
            try await play.expectNotifications(1, to: alice.deviceToken)
        },
        delivery(
            "delivery.corrected", .must, "Handle Notification Response", "PROTOCOL.md §9",
            "After WRONG_TOKEN the same message_id with the right token notifies the device."
        ) { play in
            let (alice, bob, messageID, wrong) = (try await play.registeredClient(), play.client(), play.bytes(32), play.uuid())
            try await bob.push([bob.notification(to: alice) { $0.accessToken = AccessToken(wrong) }], messageID: messageID)
                .expectReports(.wrongToken)
            // Another throw-away key, so that no late echo of the first response counts as the second one.
            let carol = play.client()
            try await carol.push([carol.notification(to: alice)], messageID: messageID).expectReports(nil)
            try await play.expectNotifications(1, to: alice.deviceToken)
        },
        delivery(
            "delivery.other-message", .must, "Handle Notification Request", "PROTOCOL.md §9",
            "Two requests with different message_ids notify the device twice."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.push(to: alice).expectReports(nil)
            try await bob.push(to: alice).expectReports(nil)
            try await play.expectNotifications(2, to: alice.deviceToken)
        },
    ]

    /// Creates a rule about what the server posts to gorush.
    static func delivery(
        _ id: String, _ level: Level, _ paragraph: String?, _ reference: String, _ title: String,
        scenario: @escaping @Sendable (Play) async throws -> Void
    ) -> Rule {
        Rule(id, level, paragraph, reference, title, needsGorush: true, scenario: scenario)
    }
}

extension Play {
    /// Expects the content of a notification in `data`, in the shape of 71; that of the reference is a departure.
    fileprivate func expectData(of sent: PushNotification, to owner: Client) async throws {
        let notification = try await expectNotification(to: owner.deviceToken)
        guard let data = notification.data else { throw Finding.fails("the notification has no data") }
        if data.chatID == nil, data.referenceChatID != nil {
            try expect(data.referenceChatID == sent.chatID.gorushText, "chatId is not that of the request")
            try expect(data.encryptedMessage == sent.message.gorushText, "encryptedMessage is not that of the request")
            try expect(data.publicKey == owner.hash.bytes.gorushText, "publicKey is not the hash of the owner's key")
            throw Finding.departs("data has the fields of the reference: encryptedMessage, chatId and publicKey")
        }
        try expect(data.chatID == sent.chatID.gorushText, "chat_id is not that of the request")
        try expect(data.message == sent.message.gorushText, "message is not that of the request")
        try expect(data.installationIDs == [owner.installationID], "installation_ids is not the installation of the device")
    }
}
