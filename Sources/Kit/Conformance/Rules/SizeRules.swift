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
            "size.long-response", .ours, .knownClient, "PROTOCOL.md §5.1",
            "A query about five owners with 3,900 contacts each gets a response that nodes take: in segments, or about fewer owners."
        ) { play in
            var owners: [(client: Client, list: [[UInt8]])] = []
            for _ in 0..<5 {
                let alice = play.client()
                owners.append((alice, try await alice.registerContacts(3_900)))
            }
            let (first, bob) = (owners[0].client, play.client())
            let data = bob.signedQuery(owners.map { $0.client.hash.bytes })
            let reply = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: first) }
            try expect(!reply.payload.info.isEmpty, "the response is empty")
            for info in reply.payload.info {
                let owner = owners.first { $0.client.hash.bytes == info.publicKey }
                try expect(info.allowedKeyList == owner?.list, "the list of an owner is not the registered one")
            }
            try expect(
                reply.received.envelope.message.payload.count <= Segmenter.usualMaximumMessageByteCount,
                "the response is in one piece, which nodes refuse")
        },
        delivery(
            "size.chat-lists", .ours, .blockedChats, "PROTOCOL.md §7 row 9a",
            "Lists of 1,300 blocked, muted and allowed chats are accepted, and their last entries count."
        ) { play in
            let (alice, blocked, muted, allowed) = (play.client(), play.bytes(64), play.bytes(64), play.bytes(64))
            let lists = [blocked, muted, allowed].map { last in (1..<1_300).map { _ in play.bytes(64) } + [last] }
            let registration = alice.registration {
                ($0.blockedChatList, $0.mutedChatList, $0.allowedMentionsChatList) = (lists[0], lists[1], lists[2])
            }
            try await alice.registerInSegments(registration).expectSuccess()
            for (type, chat) in [(.message, blocked), (.message, muted), (.mention, allowed)] as [(PushNotificationType, [UInt8])] {
                try await play.client().push(to: alice) { ($0.type, $0.chatID) = (type, chat) }.expectReports(nil)
            }
            try await play.expectNotifications(1, to: alice)
        },
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
        delivery(
            "spelling.bundle-id", .ours,
            .field("PushNotificationRegistration", "`apn_topic`: the APN topic for the push notification."), "PROTOCOL.md §10",
            "An apn_topic with capitals is posted as it is: Apple tells capitals from small letters."
        ) { play in
            let (alice, topic) = (play.client(), play.apnTopic + ".Kit")
            guard try await alice.register({ $0.apnTopic = topic }).payload.success else { throw Unasked.otherBundleID }
            try await play.client().push(to: alice).expectReports(nil)
            try expect(
                try await play.expectNotification(to: alice.deviceToken).topic == topic, "the topic is not the registered apn_topic")
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

    /// Creates a rule about a list of contacts, which arrives in segments. Up to 3,971 of 64 bytes fit into what PROTOCOL.md §7 row 9a
    /// permits.
    private static func contacts(_ count: Int) -> Rule {
        Rule(
            "size.contacts-\(count)", .ours, .allowedKeys, "PROTOCOL.md §7 row 9a",
            "A list of \(count) contacts is accepted, and returned whole."
        ) { play in
            let alice = play.client()
            let list = try await alice.registerContacts(count)
            let found = try await play.client().query(alice).info(of: alice).allowedKeyList
            try expect(found == list, "expected the list of \(count) contacts as registered, received \(found.count)")
        }
    }
}

extension Client {
    /// Registers a list of contacts, and returns it.
    fileprivate func registerContacts(_ count: Int) async throws -> [[UInt8]] {
        let list = (0..<count).map { _ in play.bytes(64) }
        try await registerInSegments(
            registration {
                // The reference shows a list only with this flag.
                $0.allowFromContactsOnly = true
                $0.allowedKeyList = list
            }
        ).expectSuccess()
        return list
    }

    /// Registers in segments, and waits for the response.
    fileprivate func registerInSegments(
        _ registration: PushNotificationRegistration
    ) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        let payload = encrypted(registration.encoded())
        return try await registrationResponse(to: payload) { try await sendInSegments(signed(payload, .pushNotificationRegistration)) }
    }

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
