import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// What a request leaves behind must concern its own owner, device and message alone.
    static let state: [Rule] = [
        delivery(
            "state.other-target", .must, .notification, "PROTOCOL.md §9",
            "The same message_id notifies two owners, in two requests."
        ) { play in
            let (alice, carol, messageID) = (try await play.registeredClient(), try await play.registeredClient(), play.bytes(32))
            for owner in [alice, carol] {
                let bob = play.client()
                try await bob.push([bob.notification(to: owner)], messageID: messageID).expectReports(nil)
            }
            try await play.expectNotifications(1, to: alice, carol)
        },
        delivery(
            "state.second-device", .must, .notification, "PROTOCOL.md §9",
            "The same message_id notifies two devices of an owner, in two requests."
        ) { play in
            let (alice, messageID) = (try await play.registeredClient(), play.bytes(32))
            let second = (installation: play.uuid(), device: Hex.encode(play.bytes(32)))
            try await alice.register {
                $0.installationID = second.installation
                $0.deviceToken = DeviceToken(second.device)
            }.expectSuccess()
            for installation in [alice.installationID, second.installation] {
                let bob = play.client()
                try await bob.push([bob.notification(to: alice) { $0.installationID = installation }], messageID: messageID)
                    .expectReports(nil)
            }
            try await play.expectNotifications([alice.deviceToken: 1, second.device: 1])
        },
        delivery(
            "state.unmuted", .ours, .notification, "PROTOCOL.md §9",
            "A message_id that was filtered notifies once the owner has unmuted the chat."
        ) { play in
            let (chat, messageID) = (play.bytes(64), play.bytes(32))
            let alice = try await play.registeredClient { $0.mutedChatList = [chat] }
            for version: UInt64 in [1, 2] {
                if version == 2 { try await alice.register { $0.version = 2 }.expectSuccess() }
                let bob = play.client()
                try await bob.push([bob.notification(to: alice) { $0.chatID = chat }], messageID: messageID).expectReports(nil)
            }
            try await play.expectNotifications(1, to: alice)
        },
        Rule(
            "state.same-installation", .must, .removal, "PROTOCOL.md §7 row 6",
            "An unregistration leaves another owner's installation of the same id."
        ) { play in
            let (alice, carol) = (try await play.registeredClient(), play.client())
            try await carol.register { $0.installationID = alice.installationID }.expectSuccess()
            try await alice.unregister(version: 2).expectSuccess()
            let infos = try await play.client().query(carol).payload.info
            try expect(
                infos.map(\.installationID) == [alice.installationID],
                "expected the info about the other owner's device, received \(infos.count) infos")
            try await play.client().push(to: carol) { $0.installationID = alice.installationID }.expectReports(nil)
        },
        Rule(
            "state.same-topic", .must, .queryTopic, "PROTOCOL.md §2",
            "Two owners whose query topics have the same 4 bytes are both found."
        ) { play in
            for (form, keys) in Self.keysOnOneTopic {
                let owners = try keys.map { try play.client(of: $0) }
                for owner in owners { try await owner.register { $0.version = play.clockVersion }.expectSuccess() }
                for owner in owners {
                    let bob = play.client()
                    let data = bob.signedQuery([owner.hash.bytes])
                    let reply = try await bob.queryResponse(to: data, on: form, about: owner)
                    try expect(
                        reply.payload.info.contains { $0.publicKey == owner.hash.bytes }, "the response is about another owner")
                }
            }
        },
    ]

    /// Keys that share the 4 bytes of their query topics, in either form of the name. Found by trying 35,000 keys.
    private static let keysOnOneTopic: [(TopicName.QueryForm, [String])] = [
        (
            .plain,
            [
                "28607533b0e92ce16d674953974378e185d5d9975fc8681bb479da10f978b604",
                "28607533b0e92ce16d674953974378e185d5d9975fc8681bb479da10f978faee",
            ]
        ),
        (
            .prefixed,
            [
                "28607533b0e92ce16d674953974378e185d5d9975fc8681bb479da10f978ee39",
                "28607533b0e92ce16d674953974378e185d5d9975fc8681bb479da10f9792e70",
            ]
        ),
    ]
}

extension Client {
    /// Queries an owner on one of the query topics. The reference reads the plain form alone.
    func queryResponse(
        to data: [UInt8], on form: TopicName.QueryForm, about owner: Client
    ) async throws -> ServerReply<PushNotificationQueryResponse> {
        do {
            let reply = try await queryResponse(to: data) { try await send(query: data, about: owner, forms: [form]) }
            if form == .prefixed { try play.expect(true, orDeparts: .listensWithoutPrefix, if: false, "") }
            return reply
        } catch let missing as Overdue where form == .prefixed {
            throw missing.departing(.listensWithoutPrefix)
        }
    }
}

extension Play {
    /// A version above those of all earlier runs, for a key that is the same in each run.
    var clockVersion: UInt64 { UInt64(clamping: network.now.nanoseconds / 1_000_000) }

    /// Creates a client of a key that is always the same.
    func client(of hex: String) throws -> Client {
        guard let bytes = Hex.decode(hex[...]).flatMap({ FixedBytes<32>($0) }) else { throw Finding.fails("the kit has a wrong key") }
        let (key, other) = (try PrivateKey(bytes), client())
        return Client(key: key, device: other.device, former: other.former, play: self, mailbox: network.open(key))
    }
}
