import Bytes
import StatusCrypto
import Wire

extension Rule {
    static let gorush: [Rule] = [
        delivery(
            "delivery.ios", .must, .notification, "PROTOCOL.md §10",
            "A push to an iOS device is posted to gorush once, with platform 1, the device token, the apn_topic and a text.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await play.client().push(to: alice).expectReports(nil)
            let notification = try await play.expectNotification(to: alice.deviceToken)
            try expect(notification.platform == 1, "expected platform 1, found \(notification.platform)")
            try expect(notification.topic == play.apnTopic, "the topic is not the registered apn_topic")
            try expect(notification.message?.isEmpty == false, "the notification has no message, which the phone would show")
            try await play.expectNotifications(1, to: alice)
        },
        delivery(
            "delivery.android", .must, .notification, "PROTOCOL.md §10",
            "A push to an Android device is posted to gorush once, with platform 2, the device token and a text.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient(on: .firebase)
            try await play.client().push(to: alice).expectReports(nil)
            let notification = try await play.expectNotification(to: alice.deviceToken)
            try expect(notification.platform == 2, "expected platform 2, found \(notification.platform)")
            try expect(notification.message?.isEmpty == false, "the notification has no message, which the phone would show")
            try await play.expectNotifications(1, to: alice)
        },
        delivery(
            "delivery.android-topic", .ours, nil, "PROTOCOL.md §10",
            "A notification for Android has no topic, not even the registered one: gorush would broadcast it.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient(on: .firebase) { $0.apnTopic = play.apnTopic }
            try await play.client().push(to: alice).expectReports(nil)
            let topic = try await play.expectNotification(to: alice.deviceToken).topic ?? ""
            try play.expect(
                topic.isEmpty, orDeparts: .postsBundleIDForAndroid, if: topic == play.apnTopic,
                "the notification has another topic than the registered one")
        },
        delivery(
            "delivery.data", .must,
            .under("Handle Notification Request", "instance with the following data"), "PROTOCOL.md §10",
            "data carries chat_id, message of 1,500 bytes and installation_ids, in hex with 0x.", histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let sent = bob.notification(to: alice) { $0.message = play.bytes(1_500) }
            try await bob.push([sent]).expectReports(nil)
            try play.expect(try await play.expectNotification(to: alice.deviceToken), carries: sent, to: alice)
        },
        delivery(
            "delivery.empty-data", .ours, nil, "PROTOCOL.md §10",
            "An empty chat_id or message is 0x in data."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let sent = bob.notification(to: alice) {
                $0.chatID = []
                $0.message = []
            }
            try await bob.push([sent]).expectReports(nil)
            try play.expect(try await play.expectNotification(to: alice.deviceToken), carries: sent, to: alice)
        },
        delivery(
            "delivery.two-devices", .must, .notification, "PROTOCOL.md §10",
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
            try await play.expectNotifications([alice.deviceToken: 1, second.device: 1])
        },
        delivery(
            "delivery.two-platforms", .must,
            .under("Handle Notification Request", "Where platform is 1 for iOS and 2 for Firebase"), "PROTOCOL.md §10",
            "A request for an iOS device and an Android device notifies each on its platform."
        ) { play in
            let (alice, carol, bob) = (
                try await play.registeredClient(), try await play.registeredClient(on: .firebase), play.client()
            )
            for order in [[alice, carol], [carol, alice]] {
                try await bob.push(order.map { bob.notification(to: $0) }).expectReports(nil, nil)
            }
            for (owner, platform) in [(alice, 1), (carol, 2)] {
                for notification in try await play.expectNotifications(2, to: owner.deviceToken) {
                    try expect(notification.platform == platform, "expected platform \(platform), found \(notification.platform)")
                }
            }
        },
        delivery(
            "delivery.own-topics", .must, .field("Handle Notification Request", "Where platform is 1 for iOS and 2 for Firebase"),
            "PROTOCOL.md §10",
            "A request for two iPhones and an Android device of an owner posts each with its own topic and platform."
        ) { play in
            let alice = try await play.registeredClient()
            let (iPhone, android) = (
                (id: play.uuid(), device: Hex.encode(play.bytes(32))), (id: play.uuid(), device: Hex.encode(play.bytes(32)))
            )
            let otherTopic = play.apnTopic + ".kit"
            let second = try await alice.register {
                $0.installationID = iPhone.id
                $0.deviceToken = DeviceToken(iPhone.device)
                $0.apnTopic = otherTopic
            }
            try await alice.register {
                $0.installationID = android.id
                $0.deviceToken = DeviceToken(android.device)
                $0.tokenType = .firebase
                $0.apnTopic = ""
            }.expectSuccess()
            // A server may serve a single bundle id.
            let expected =
                [(alice.installationID, alice.deviceToken, 1, play.apnTopic), (android.id, android.device, 2, "")]
                + (second.payload.success ? [(iPhone.id, iPhone.device, 1, otherTopic)] : [])
            let bob = play.client()
            for order in [expected, expected.reversed()] {
                let reply = try await bob.push(order.map { id, _, _, _ in bob.notification(to: alice) { $0.installationID = id } })
                try Conformance.expect(reply.reported == order.map { _ in nil }, "a push to a device of the request is no success")
            }
            for (_, device, platform, topic) in expected {
                for notification in try await play.expectNotifications(2, to: device) {
                    try expect(notification.platform == platform, "expected platform \(platform), found \(notification.platform)")
                    guard platform == 1 else { continue }
                    try expect(notification.topic == topic, "the topic is another device's")
                }
            }
        },
        delivery(
            "delivery.two-types", .ours, nil, "PROTOCOL.md §10",
            "The text for a MESSAGE or a MENTION is the same, whatever else its request contains."
        ) { play in
            let (carol, bob, chat) = (try await play.registeredClient(), play.client(), play.bytes(64))
            let alice = try await play.registeredClient { $0.allowedMentionsChatList = [chat] }
            for mentionIsFirst in [true, false] {
                let mention = bob.notification(to: alice) { ($0.type, $0.chatID) = (.mention, chat) }
                let message = bob.notification(to: carol)
                try await bob.push(mentionIsFirst ? [mention, message] : [message, mention]).expectReports(nil, nil)
            }
            for owner in [alice, carol] {
                let texts = try await play.expectNotifications(2, to: owner.deviceToken).map(\.message)
                try expect(Set(texts).count == 1, "the text depends on the other notification of the request")
            }
        },
        delivery(
            "delivery.two-chats", .must, .notification, "PROTOCOL.md §10",
            "A request with notifications about two chats notifies each device about its own."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), try await play.registeredClient(), play.client())
            let sent = [bob.notification(to: alice), bob.notification(to: carol)]
            try await bob.push(sent).expectReports(nil, nil)
            for (owner, notification) in zip([alice, carol], sent) {
                try play.expect(try await play.expectNotification(to: owner.deviceToken), carries: notification, to: owner)
            }
        },
        delivery(
            "delivery.two-accounts", .ours,
            .under("Unregistering with a Server", "if multiple chat keys are used on a single device."), "PROTOCOL.md §10",
            "A request for two accounts on one phone notifies it of both."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), play.client(), play.client())
            try await carol.register { $0.deviceToken = DeviceToken(alice.deviceToken) }.expectSuccess()
            try await bob.push([bob.notification(to: alice), bob.notification(to: carol)]).expectReports(nil, nil)
            try await play.expectNotifications([alice.deviceToken: 2])
        },
        delivery(
            "delivery.owners-apart", .ours, nil, "PROTOCOL.md §10",
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
            "delivery.wrong-token", .must, .validation, "PROTOCOL.md §9",
            "A push request with another access token posts nothing.", histories: RegistrationHistory.allCases
        ) { play in
            let (alice, wrong) = (try await play.registeredClient(), play.uuid())
            try await play.client().push(to: alice) { $0.accessToken = AccessToken(wrong) }.expectReports(.wrongToken)
            try await play.expectNotifications(0, to: alice)
        },
        delivery(
            "delivery.unregistered", .must, .removal, "PROTOCOL.md §9",
            "A push request after an unregistration posts nothing.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: play.version(2)).expectSuccess()
            try await play.client().push(to: alice).expectReports(.notRegistered)
            try await play.expectNotifications(0, to: alice)
        },
        delivery(
            "delivery.new-device-token", .must,
            .field("PushNotificationRegistration", "`device_token`: the actual push notification token"), "PROTOCOL.md §9",
            "After a registration with a new device token pushes go to that one alone.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let device = Hex.encode(play.bytes(32))
            try await alice.register {
                $0.version = play.version(2)
                $0.deviceToken = DeviceToken(device)
            }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
            try await play.expectNotifications([device: 1, alice.deviceToken: 0, alice.former.deviceToken: 0])
        },
        delivery(
            "delivery.rejected-registration", .must, .success, "PROTOCOL.md §7",
            "After registrations that are rejected, a push goes to the device token from before, and there alone."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 5 }
            var counts = [alice.deviceToken: 1]
            let mistakes: [@Sendable (inout PushNotificationRegistration) -> Void] = [
                { $0.version = 0 }, { $0.version = 4 }, { $0.version = 5 }, { $0.accessToken = "no UUID" }, { $0.grant = [] },
            ]
            for mistake in mistakes {
                let device = Hex.encode(play.bytes(32))
                counts[device] = 0
                var rejected = alice.registration { ($0.version, $0.enabled, $0.deviceToken) = (6, false, DeviceToken(device)) }
                mistake(&rejected)
                try expect(try await !alice.register(rejected).payload.success, "expected a rejection, received success")
            }
            try await play.client().push(to: alice).expectReports(nil)
            try await play.expectNotifications(counts)
        },
        delivery(
            "delivery.new-bundle-id", .must,
            .field("PushNotificationRegistration", "`apn_topic`: the APN topic for the push notification."), "PROTOCOL.md §10",
            "After a registration with a new apn_topic pushes have that one."
        ) { play in
            let alice = play.client()
            guard try await alice.register({ $0.apnTopic = play.apnTopic + ".other" }).payload.success else { throw Unasked.otherBundleID }
            try await alice.register { $0.version = 2 }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
            let topic = try await play.expectNotification(to: alice.deviceToken).topic
            try expect(topic == play.apnTopic, "the topic is not the registered apn_topic")
        },
        delivery(
            "delivery.repeated-request", .must, .notification, "PROTOCOL.md §9",
            "A push request that is sent again notifies the device once."
        ) { play in
            let (alice, bob, messageID) = (try await play.registeredClient(), play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            try await bob.send(data: data)
            try await play.expectNotifications(1, to: alice)
        },
        delivery(
            "delivery.repeated-message", .ours, nil, "PROTOCOL.md §9",
            "Two senders that request a push for the same message_id notify the device once."
        ) { play in
            let (alice, messageID) = (try await play.registeredClient(), play.bytes(32))
            for _ in 0..<2 {
                let sender = play.client()
                try await sender.push([sender.notification(to: alice)], messageID: messageID).expectReports(nil)
            }
            try await play.expectOneNotification(ofTwoTo: alice)
        },
        delivery(
            "delivery.named-twice", .ours, nil, "PROTOCOL.md §9",
            "A device that a request names twice is notified once."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.push([bob.notification(to: alice), bob.notification(to: alice)]).expectReports(nil, nil)
            try await play.expectOneNotification(ofTwoTo: alice)
        },
        delivery(
            "delivery.one-device", .ours, nil, "PROTOCOL.md §9",
            "A request for two installations of a key with one device token and app notifies the device once."
        ) { play in
            let (alice, bob, newer) = (try await play.registeredClient(), play.client(), play.uuid())
            try await alice.register { $0.installationID = newer }.expectSuccess()
            let sent = [bob.notification(to: alice), bob.notification(to: alice) { $0.installationID = newer }]
            try await bob.push(sent).expectReports(nil, nil)
            try await play.expectOneNotification(ofTwoTo: alice, orDeparts: .postsToEachInstallation)
        },
        delivery(
            "delivery.newest-installation", .ours, nil, "PROTOCOL.md §9",
            "Of a key's two installations with one device token and app, the filters of the one that was registered last decide."
        ) { play in
            let (bob, chat) = (play.client(), play.bytes(64))
            var counts: [String: Int] = [:]
            for (mutedVersion, firstVersion) in [(1, 1), (1, 2), (2, 1), (2, 2)] as [(UInt64, UInt64)] {
                let (alice, newer) = (play.client(), play.uuid())
                for (version, id) in [(1, alice.installationID), (2, newer)] as [(UInt64, String)] {
                    try await alice.register {
                        ($0.version, $0.installationID) = (version, id)
                        if version == mutedVersion { $0.mutedChatList = [chat] }
                    }.expectSuccess()
                }
                let ids = firstVersion == 1 ? [alice.installationID, newer] : [newer, alice.installationID]
                try await bob.push(ids.map { id in bob.notification(to: alice) { ($0.installationID, $0.chatID) = (id, chat) } })
                    .expectReports(nil, nil)
                counts[alice.deviceToken] = mutedVersion == 1 ? 1 : 0
            }
            var mutedCount = 0
            try await play.expectNotifications(counts) { found, expected in
                guard expected == 0 else { throw Finding.fails("expected 1 notification to a device at gorush, found \(found)") }
                mutedCount += found
            }
            try play.expect(
                mutedCount == 0, orDeparts: .postsToEachInstallation, if: mutedCount == 2,
                "an installation that a newer one has replaced on its device was notified")
        },
        delivery(
            "delivery.corrected", .must, .notification, "PROTOCOL.md §9",
            "After WRONG_TOKEN the same message_id with the right token notifies the device."
        ) { play in
            let (alice, bob, messageID, wrong) = (try await play.registeredClient(), play.client(), play.bytes(32), play.uuid())
            try await bob.push([bob.notification(to: alice) { $0.accessToken = AccessToken(wrong) }], messageID: messageID)
                .expectReports(.wrongToken)
            // Another throw-away key, so that no late echo of the first response counts as the second.
            let carol = play.client()
            try await carol.push([carol.notification(to: alice)], messageID: messageID).expectReports(nil)
            try await play.expectNotifications(1, to: alice)
        },
        delivery(
            "delivery.other-message", .must, .notification, "PROTOCOL.md §9",
            "Two requests with different message_ids notify the device twice.", histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.push(to: alice).expectReports(nil)
            try await bob.push(to: alice).expectReports(nil)
            try await play.expectNotifications(2, to: alice)
        },
    ]

    /// Creates a rule about what the server posts to gorush.
    static func delivery(
        _ id: String, _ level: Level, _ place: Place?, _ reference: String, _ title: String, histories: [RegistrationHistory] = [.first],
        scenario: @escaping @Sendable (Play) async throws -> Void
    ) -> Rule {
        Rule(id, level, place, reference, title, needsGorush: true, histories: histories, scenario: scenario)
    }
}

extension Play {
    /// Expects a notification's content in `data`, in the shape of 71. The reference's shape is a departure.
    fileprivate func expect(_ notification: GorushNotification, carries sent: PushNotification, to owner: Client) throws {
        guard let data = notification.data else { throw Finding.fails("the notification has no data") }
        if data.chatID == nil, data.referenceChatID != nil {
            try Conformance.expect(data.referenceChatID == sent.chatID.gorushText, "chatId is not that of the request")
            try Conformance.expect(data.encryptedMessage == sent.message.gorushText, "encryptedMessage is not that of the request")
            try Conformance.expect(data.publicKey == owner.hash.bytes.gorushText, "publicKey is not the hash of the owner's key")
            return try expect(false, orDeparts: .postsOwnData, if: true, "")
        }
        try Conformance.expect(data.chatID == sent.chatID.gorushText, "chat_id is not that of the request")
        try Conformance.expect(data.message == sent.message.gorushText, "message is not that of the request")
        try Conformance.expect(data.installationIDs == [owner.installationID], "installation_ids is not the installation of the device")
        try expect(true, orDeparts: .postsOwnData, if: false, "")
    }

    /// Expects a single notification after two requests for the same message.
    fileprivate func expectOneNotification(
        ofTwoTo owner: Client, orDeparts departure: Departure = .deduplicatesRequests
    ) async throws {
        var found = 1
        try await expectNotifications([owner.deviceToken: 1]) { count, _ in found = count }
        try expect(
            found == 1, orDeparts: departure, if: found == 2, "expected 1 notification to a device at gorush, found \(found)")
    }
}
