import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let registrations: [Rule] = [
        Rule(
            "register.ios", .must, .success, "PROTOCOL.md §7",
            "A registration of an iOS device is a success.", histories: RegistrationHistory.allCases
        ) { play in
            try await play.owner().register().expectSuccess()
        },
        Rule(
            "register.android", .must, .bundleID, "PROTOCOL.md §7",
            "A registration of an Android device needs no apn_topic.", histories: RegistrationHistory.allCases
        ) { play in
            // As short as Apple's, so that this rule is about the topic alone.
            let token = Hex.encode(play.bytes(32))
            try await play.owner(on: .firebase).register { $0.deviceToken = DeviceToken(token) }.expectSuccess()
        },
        Rule(
            "register.firebase-token", .must,
            .field("PushNotificationRegistration", "`device_token`: the actual push notification token sent by `Firebase` or `APN`"),
            "PROTOCOL.md §7 row 9", "A Firebase token has 163 characters, with a colon, hyphens and underscores."
        ) { play in
            try await play.client(on: .firebase).register().expectSuccess()
        },
        Rule(
            "register.shared-device-token", .ours,
            .under("Unregistering with a Server", "if multiple chat keys are used on a single device."), "PROTOCOL.md §7",
            "Two keys may register the same device token: two accounts on one phone."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await bob.register { $0.deviceToken = DeviceToken(alice.deviceToken) }.expectSuccess()
            for owner in [alice, bob] { try await play.client().push(to: owner).expectReports(nil) }
        },
        Rule(
            "register.partitioned-topic", .must, .partitionedTopic, "PROTOCOL.md §2",
            "The server reads registrations on the partitioned topic of its key."
        ) { play in
            let alice = play.client()
            try await alice.register(alice.registration(), on: .partitioned(play.server)).expectSuccess()
        },
        Rule(
            "register.personal-topic", .ours, nil, "PROTOCOL.md §2",
            "The server reads registrations on its personal topic, to which clients of the reference send them."
        ) { play in
            let alice = play.client()
            try await alice.register(alice.registration(), on: .personal(play.server)).expectSuccess()
        },
        Rule(
            "register.installations", .must, .version, "PROTOCOL.md §7 row 5",
            "Two installations of one key have versions of their own."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 5 }
            let second = play.uuid()
            try await alice.register { $0.installationID = second }.expectSuccess()
            let infos = try await play.client().query(alice).payload.info
            try expect(
                Set(infos.map(\.installationID)) == [alice.installationID, second],
                "expected the infos of both installations, received \(infos.count)")
        },
        Rule(
            "register.owners", .must, .version, "PROTOCOL.md §7 row 5",
            "Two keys may use the same installation id, each with versions of its own."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 5 }
            let bob = play.client()
            try await bob.register { $0.installationID = alice.installationID }.expectSuccess()
            try expect(try await play.client().query(alice).info(of: alice).version == 5, "another key changed the version of the first")
        },
        Rule(
            "register.token-forms", .ours, .uuid, "PROTOCOL.md §7 row 7",
            "The access token is a UUID in any form of the reference's: capitals, 32 digits, urn:uuid: or braces."
        ) { play in
            let uuid = play.uuid()
            let digits = uuid.filter { $0 != "-" }
            for token in [uuid.uppercased(), digits, "urn:uuid:\(uuid)", "{\(uuid)}"] {
                try await play.client().register { $0.accessToken = AccessToken(token) }.expectSuccess()
            }
        },
        Rule(
            "register.unknown-fields", .must, .record, "PROTOCOL.md §6",
            "Fields that the server does not know are skipped, as proto3 requires."
        ) { play in
            let alice = play.client()
            // Field 2047: a varint, and bytes.
            let unknown: [UInt8] = [0xF8, 0x7F, 0x01, 0xFA, 0x7F, 0x03, 1, 2, 3]
            let payload = alice.encrypted(unknown + alice.registration().encoded() + unknown)
            try await alice.register(encrypted: payload).expectSuccess()
        },
        Rule(
            "register.repeated-fields", .must, .record, "PROTOCOL.md §6",
            "If a singular field occurs twice, the last occurrence counts, as proto3 requires."
        ) { play in
            let alice = play.client()
            var first = PushNotificationRegistration()
            first.version = 9
            let payload = alice.encrypted(first.encoded() + alice.registration { $0.version = 3 }.encoded())
            try await alice.register(encrypted: payload).expectSuccess()
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == 3, "expected version 3, the last one in the message, received \(version)")
        },
        Rule(
            "register.replaces", .must,
            .field("PushNotificationRegistration", "Any time anything is changed in the record it MUST be increased by the client"),
            "PROTOCOL.md §7", "A registration with a higher version replaces the older one.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let token = play.uuid()
            try await alice.register {
                $0.version = play.version(2)
                $0.accessToken = AccessToken(token)
            }.expectSuccess()
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.version == play.version(2), "expected version \(play.version(2)), received \(info.version)")
            try expect(info.accessToken.text == token, "the server hands out an older access token")
            try await play.client().push(to: alice).expectReports(.wrongToken)
        },
    ]
}
