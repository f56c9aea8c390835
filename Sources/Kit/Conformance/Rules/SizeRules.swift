import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// Long messages, lists and texts, and texts in another spelling.
    static let sizes: [Rule] = [
        Rule(
            "size.long-frame", .ours, nil, "PROTOCOL.md §3",
            "A registration in a frame of more than 65,535 bytes, whose length has three bytes, is read."
        ) { play in
            let list = (0..<1_050).map { _ in play.bytes(64) }
            try await play.client().register { $0.blockedChatList = list }.expectSuccess()
        },
        contacts(1_001), contacts(3_900),
        Rule(
            "size.firebase-token", .ours, nil, "PROTOCOL.md §7 row 9",
            "Firebase tokens of 256 and of 1,000 characters are accepted: Google sets no limit."
        ) { play in
            for length in [256, 1_000] {
                let token = Hex.encode(play.bytes(length / 2))
                try await play.client(on: .firebase).register { $0.deviceToken = DeviceToken(token) }.expectSuccess()
            }
        },
        Rule(
            "size.apn-token", .ours, nil, "PROTOCOL.md §7 row 9",
            "APNs tokens of 80 and 100 bytes are accepted: Apple says that their length may change."
        ) { play in
            for length in [80, 100] {
                let token = Hex.encode(play.bytes(length))
                try await play.client().register { $0.deviceToken = DeviceToken(token) }.expectSuccess()
            }
        },
        Rule(
            "size.installation-id", .ours, nil, "PROTOCOL.md §7 row 4",
            "An installation_id of 100 characters is accepted, and kept whole."
        ) { play in
            let (alice, id) = (play.client(), Hex.encode(play.bytes(50)))
            try await alice.register { $0.installationID = id }.expectSuccess(
                orDeparts: .refusesOtherInstallationIDs, referenceError: .malformedMessage
            ) {
                let infos = try await play.client().query(alice).payload.info
                try expect(infos.map(\.installationID) == [id], "the response has another installation_id than the registered one")
            }
        },
        Rule(
            "size.notifications", .ours, nil, "PROTOCOL.md §9",
            "A request with 1,000 notifications has a report for each, in their order."
        ) { play in
            let (bob, stranger, messageID) = (play.client(), play.client(), play.bytes(32))
            let notifications = (0..<1_000).map { number in
                bob.notification(to: stranger) {
                    $0.installationID = "\(number)"
                    ($0.chatID, $0.author, $0.message) = ([], [], [])
                }
            }
            let data = bob.signed(bob.request(notifications, messageID), .pushNotificationRequest)
            let reports = try await bob.pushResponse(to: messageID) { try await bob.sendInSegments(data) }.payload.reports
            try expect(reports.count == 1_000, "expected 1,000 reports, received \(reports.count)")
            try expect(
                reports.map(\.installationID) == notifications.map(\.installationID),
                "the reports are not in the order of the notifications")
            try expect(reports.allSatisfy { !$0.success && $0.error == .notRegistered }, "a report is not NOT_REGISTERED")
        },
        Rule(
            "spelling.installation-id", .ours, nil, "PROTOCOL.md §7 row 4",
            "An installation_id in capitals stays as it is, and is another one than in small letters."
        ) { play in
            let alice = play.client()
            let id = alice.installationID.uppercased()
            try await alice.register { $0.installationID = id }.expectSuccess()
            let infos = try await play.client().query(alice).payload.info
            try expect(infos.map(\.installationID) == [id], "the response has another installation_id than the registered one")
            try await play.client().push(to: alice) { $0.installationID = id }.expectReports(nil)
        },
        delivery(
            "spelling.apn-token", .ours, nil, "PROTOCOL.md §7 row 9",
            "An APNs token in capitals is accepted, and its device is notified."
        ) { play in
            let alice = play.client()
            let token = alice.deviceToken.uppercased()
            try await alice.register { $0.deviceToken = DeviceToken(token) }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
            try await play.expectNotification(to: token)
        },
        Rule(
            "spelling.content-topic", .ours, nil, "PROTOCOL.md §2",
            "A content topic with capital hex digits is the same topic."
        ) { play in
            // A key whose reply would come in any case: the request's topic alone has capitals.
            let alice = play.client()
            let payload = alice.encrypted(alice.registration().encoded())
            let data = alice.signed(payload, .pushNotificationRegistration)
            for topic in [TopicName.partitioned(play.server), .personal(play.server)] {
                var envelope = play.network.envelope(try play.sealed(data, signer: alice.key), on: topic.topic)
                let digits = envelope.message.contentTopic.dropFirst("/waku/1/0x".count).prefix(8).uppercased()
                envelope.message.contentTopic = "/waku/1/0x\(digits)/rfc26"
                let copy = envelope
                try await alice.registrationResponse(to: payload) { try await play.network.publish(copy) }.expectSuccessOrOld()
            }
        },
        delivery(
            "spelling.short-entries", .ours, .blockedChats, "PROTOCOL.md §9",
            "A list entry of 32 bytes, as 71 describes it, filters a chat_id of 32 bytes."
        ) { play in
            let chat = play.bytes(32)
            let alice = try await play.registeredClient { $0.blockedChatList = [play.bytes(64), chat] }
            try await play.client().push(to: alice) { $0.chatID = chat }.expectReports(nil)
            try await play.expectNotifications(0, to: alice)
        },
    ]

    /// Creates a rule about a list of contacts, which arrives in segments. Up to 3,971 of 64 bytes fit into what PROTOCOL.md §7 row 9a permits.
    private static func contacts(_ count: Int) -> Rule {
        Rule(
            "size.contacts-\(count)", .ours, .allowedKeys, "PROTOCOL.md §7 row 9a",
            "A list of \(count) contacts is accepted, and returned whole."
        ) { play in
            let alice = play.client()
            let list = (0..<count).map { _ in play.bytes(64) }
            let payload = alice.encrypted(
                alice.registration {
                    // The reference shows a list only with this flag.
                    $0.allowFromContactsOnly = true
                    $0.allowedKeyList = list
                }.encoded())
            let data = alice.signed(payload, .pushNotificationRegistration)
            try await alice.registrationResponse(to: payload) { try await alice.sendInSegments(data) }.expectSuccess()
            let found = try await play.client().query(alice).info(of: alice).allowedKeyList
            try expect(found == list, "expected the list of \(count) contacts as registered, received \(found.count)")
        }
    }
}

extension Client {
    /// Sends a long message in segments, which fit into nodes' messages of any permitted size.
    fileprivate func sendInSegments(_ data: [UInt8]) async throws {
        for segment in Segmenter(segmentByteCount: 100_000).segment(data) { try await send(data: segment) }
    }
}

extension ServerReply<PushNotificationRegistrationResponse> {
    /// Expects success, and continues then.
    ///
    /// - Parameter referenceError: What the reference replies instead.
    fileprivate func expectSuccess(
        orDeparts departure: Departure, referenceError: RegistrationError, then: () async throws -> Void
    ) async throws {
        let isDeparture = !payload.success && payload.error == referenceError
        try play.expect(payload.success, orDeparts: departure, if: isDeparture, "expected success, received \(payload.error.name)")
        if payload.success { try await then() }
    }

    /// Expects a reply that shows that the registration was read. A copy may be old.
    fileprivate func expectSuccessOrOld() throws {
        if !payload.success { try expectRefusal(.versionMismatch) }
    }
}
