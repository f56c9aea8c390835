import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// What a server must still know after a restart. These rules run at the end, one after another.
    static let restarts: [Rule] = [
        restarting(
            "restart.registration", "A registration is still found after a restart, and its device can be pushed to."
        ) { play in
            let alice = try await play.registeredClient()
            try await play.restartServer()
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.text == alice.accessToken && info.version == 1, "the registration is not what it was before")
            try await play.client().push(to: alice).expectReports(nil)
        },
        restarting(
            "restart.topics",
            "After a restart each kind of request is read on each topic alone, from or about an owner who has not been heard of since."
        ) { play in
            let forms = TopicName.QueryForm.allCases
            let topics = [TopicName.partitioned(play.server), .personal(play.server)]
            var owners: [Client] = []
            for _ in 0..<forms.count + 3 * topics.count { owners.append(try await play.registeredClient()) }
            try await play.restartServer()
            for form in forms {
                let (alice, bob) = (owners.removeLast(), play.client())
                _ = try await bob.queryResponse(to: bob.signedQuery([alice.hash.bytes]), on: form, about: alice).info(of: alice)
            }
            for topic in topics {
                let (alice, carol, dave, bob) = (owners.removeLast(), owners.removeLast(), owners.removeLast(), play.client())
                let data = bob.signedQuery([alice.hash.bytes])
                _ = try await bob.queryResponse(to: data) { try await bob.send(data: data, on: topic) }.info(of: alice)
                try await bob.push([bob.notification(to: carol)], on: topic).expectReports(nil)
                try await dave.register(dave.registration { $0.version = 2 }, on: topic).expectSuccess()
            }
        },
        restarting(
            "restart.filters", "What a registration filters and hides is the same after a restart, on each platform.", needsGorush: true
        ) { play in
            let (blocked, muted, allowed, author) = (play.bytes(64), play.bytes(64), play.bytes(64), play.bytes(64))
            let list = [play.bytes(64)]
            var owners: [Client] = []
            for platform in [TokenType.apn, .firebase] {
                owners.append(
                    try await play.registeredClient(on: platform) {
                        $0.blockedChatList = [blocked, author]
                        $0.mutedChatList = [muted]
                        $0.allowedMentionsChatList = [allowed]
                        ($0.allowFromContactsOnly, $0.allowedKeyList) = (true, list)
                    })
            }
            try await play.restartServer()
            let bob = play.client()
            for owner in owners {
                let changes: [@Sendable (inout PushNotification) -> Void] = [
                    { $0.chatID = blocked }, { $0.chatID = muted }, { $0.author = author }, { $0.type = .mention },
                    { ($0.type, $0.chatID) = (.mention, allowed) }, { _ in },
                ]
                for change in changes { try await bob.push(to: owner, change).expectReports(nil) }
                let info = try await bob.query(owner).info(of: owner)
                try expect(info.accessToken.isEmpty && info.allowedKeyList == list, "the list of contacts is not what it was before")
            }
            try await play.expectNotifications(2, to: owners[0], owners[1])
            for (owner, platform) in zip(owners, [1, 2]) {
                let notification = try await play.expectNotification(to: owner.deviceToken)
                try expect(notification.platform == platform, "expected platform \(platform), found \(notification.platform)")
            }
        },
        restarting(
            "restart.version", "A version from before a restart is still refused, also that of an unregistration."
        ) { play in
            let (alice, carol) = (try await play.registeredClient { $0.version = 7 }, try await play.registeredClient())
            try await carol.unregister(version: 7).expectSuccess()
            try await play.restartServer()
            for owner in [alice, carol] { try await owner.register { $0.version = 6 }.expectRefusal(.versionMismatch) }
        },
        restarting(
            "restart.push", "A push request from before a restart, sent again, notifies the device once.", needsGorush: true
        ) { play in
            let (alice, bob, messageID) = (try await play.registeredClient(), play.client(), play.bytes(32))
            let data = bob.signed(bob.request([bob.notification(to: alice)], messageID), .pushNotificationRequest)
            try await bob.pushResponse(to: messageID) { try await bob.send(data: data) }.expectReports(nil)
            // A server that is killed right after gorush's response may post again.
            try await play.expectNotifications(1, to: alice)
            try await play.restartServer()
            try await bob.send(data: data)
            try await play.expectNotifications(1, to: alice)
        },
    ]

    private static func restarting(
        _ id: String, _ title: String, needsGorush: Bool = false, scenario: @escaping @Sendable (Play) async throws -> Void
    ) -> Rule {
        Rule(id, .ours, nil, "RELIABILITY.md I2", title, needsGorush: needsGorush, needsRestart: true, scenario: scenario)
    }
}
