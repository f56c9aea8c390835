import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let registrations: [Rule] = [
        Rule(
            "register.ios", .must, "Registering Client", "PROTOCOL.md §7",
            "A registration of an iOS device is a success."
        ) { play in
            try await play.client().register().expectSuccess()
        },
        Rule(
            "register.android", .must, "Registering Client", "PROTOCOL.md §7",
            "A registration of an Android device needs no apn_topic."
        ) { play in
            try await play.client().register {
                $0.tokenType = .firebase
                $0.apnTopic = ""
            }.expectSuccess()
        },
        Rule(
            "register.partitioned-topic", .must, "Registering Client", "PROTOCOL.md §2",
            "The server reads registrations on the partitioned topic of its key."
        ) { play in
            let alice = play.client()
            try await alice.register(alice.registration(), on: .partitioned(play.server)).expectSuccess()
        },
        Rule(
            "register.personal-topic", .open, nil, "PROTOCOL.md §2",
            "The server reads registrations on its personal topic, to which clients of the reference send them."
        ) { play in
            let alice = play.client()
            try await alice.register(alice.registration(), on: .personal(play.server)).expectSuccess()
        },
        Rule(
            "register.installations", .must, "Registering Client", "PROTOCOL.md §7 row 5",
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
            "register.owners", .must, "Registering Client", "PROTOCOL.md §7 row 5",
            "Two keys may use the same installation id, each with versions of its own."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 5 }
            let bob = play.client()
            try await bob.register { $0.installationID = alice.installationID }.expectSuccess()
            try expect(try await play.client().query(alice).onlyInfo().version == 5, "another key changed the version of the first")
        },
        Rule(
            "register.token-forms", .open, "Registering Client", "PROTOCOL.md §7 row 7",
            "The access token is a UUID in any form of the reference's: capitals, 32 digits, urn:uuid: or braces."
        ) { play in
            let uuid = play.uuid()
            let digits = uuid.filter { $0 != "-" }
            for (version, token) in [uuid.uppercased(), digits, "urn:uuid:\(uuid)", "{\(uuid)}"].enumerated() {
                try await play.client().register {
                    $0.version = UInt64(version + 1)
                    $0.accessToken = AccessToken(token)
                }.expectSuccess()
            }
        },
        Rule(
            "register.unknown-fields", .must, "Protobuf Description", "PROTOCOL.md §6",
            "Fields that the server does not know are skipped, as proto3 requires."
        ) { play in
            let alice = play.client()
            // Field 2047: a varint, and bytes.
            let unknown: [UInt8] = [0xF8, 0x7F, 0x01, 0xFA, 0x7F, 0x03, 1, 2, 3]
            let payload = alice.encrypted(unknown + alice.registration().encoded() + unknown)
            try await alice.register(encrypted: payload).expectSuccess()
        },
        Rule(
            "register.repeated-fields", .must, "Protobuf Description", "PROTOCOL.md §6",
            "If a singular field occurs twice, the last occurrence counts, as proto3 requires."
        ) { play in
            let alice = play.client()
            var first = PushNotificationRegistration()
            first.version = 9
            let payload = alice.encrypted(first.encoded() + alice.registration { $0.version = 3 }.encoded())
            try await alice.register(encrypted: payload).expectSuccess()
            let version = try await play.client().query(alice).onlyInfo().version
            try expect(version == 3, "expected version 3, the last one in the message, received \(version)")
        },
        Rule(
            "register.replaces", .must, "Re-registering with a Server", "PROTOCOL.md §7",
            "A registration with a higher version replaces the older one."
        ) { play in
            let alice = try await play.registeredClient()
            let token = play.uuid()
            try await alice.register {
                $0.version = 2
                $0.accessToken = AccessToken(token)
            }.expectSuccess()
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.version == 2, "expected version 2, received \(info.version)")
            try expect(info.accessToken.text == token, "the server hands out an older access token")
            let old = try await play.client().push(to: alice)
            try old.expectReports(.wrongToken)
        },
    ]

    static let refusals: [Rule] = [
        Rule(
            "refusal.undecryptable", .must, "Handle Errors", "PROTOCOL.md §7 row 1",
            "A registration that cannot be decrypted with the shared key of client and server is discarded."
        ) { play in
            let (alice, mallory) = (play.client(), play.client())
            try await play.expectSilence(toward: alice, mallory, departure: malformedResponse) {
                let foreign = alice.encrypted(alice.registration().encoded(), for: play.client().key.publicKey)
                try await alice.send(foreign, .pushNotificationRegistration)
                // Another client's registration, signed again.
                let recorded = play.client()
                try await mallory.send(recorded.encrypted(recorded.registration().encoded()), .pushNotificationRegistration)
                try await mallory.send([1, 2, 3], .pushNotificationRegistration)
            }
        },
        Rule(
            "refusal.no-protobuf", .open, "Handle Errors", "PROTOCOL.md §7 row 2",
            "A registration that decrypts to no protobuf message is MALFORMED_MESSAGE."
        ) { play in
            let alice = play.client()
            // A field that is longer than the message; a string that is not UTF-8.
            for plaintext: [UInt8] in [[0x12, 0x7F, 0x01], [0x1A, 0x02, 0xFF, 0xFE] + alice.registration().encoded()] {
                try await alice.register(encrypted: alice.encrypted(plaintext)).expectRefusal(.malformedMessage)
            }
        },
        Rule(
            "refusal.version-zero", .must, "Handle Errors", "PROTOCOL.md §7 row 3",
            "A registration without version is MALFORMED_MESSAGE."
        ) { play in
            try await play.client().register { $0.version = 0 }.expectRefusal(.malformedMessage, referenceError: .versionMismatch)
        },
        Rule(
            "refusal.no-installation", .must, "Handle Errors", "PROTOCOL.md §7 row 4",
            "A registration without installation_id is MALFORMED_MESSAGE."
        ) { play in
            try await play.client().register { $0.installationID = "" }.expectRefusal(.malformedMessage)
        },
        Rule(
            "refusal.no-device-token", .must, "Handle Errors", "PROTOCOL.md §7 row 9",
            "A registration without device_token is MALFORMED_MESSAGE, on either platform."
        ) { play in
            for type in [TokenType.apn, .firebase] {
                try await play.client().register {
                    $0.tokenType = type
                    $0.deviceToken = ""
                }.expectRefusal(.malformedMessage)
            }
        },
        Rule(
            "refusal.no-access-token", .must, "Handle Errors", "PROTOCOL.md §7 row 7",
            "A registration without access_token is MALFORMED_MESSAGE."
        ) { play in
            try await play.client().register { $0.accessToken = "" }.expectRefusal(.malformedMessage)
        },
        Rule(
            "refusal.token-no-uuid", .must, "Registering Client", "PROTOCOL.md §7 row 7",
            "The server rejects a registration whose access_token is not a UUID."
        ) { play in
            let uuid = play.uuid()
            for token in ["token", uuid + "0", String(uuid.dropLast()) + "g", uuid.replacing("-", with: "_")] {
                try await play.client().register { $0.accessToken = AccessToken(token) }.expectRefusal(.malformedMessage, .internalError)
            }
        },
        Rule(
            "refusal.no-grant", .must, "Registering Client", "PROTOCOL.md §7 row 8",
            "The server rejects a registration without a grant."
        ) { play in
            let alice = play.client()
            var registration = alice.registration()
            registration.grant = []
            try await alice.register(registration).expectRefusal(.malformedMessage, .internalError)
        },
        Rule(
            "refusal.grant-form", .must, "Server Grant", "PROTOCOL.md §7 row 8",
            "The server rejects a registration whose grant is not a signature of 65 bytes with V 0 or 1."
        ) { play in
            let alice = play.client()
            let grant = alice.grant(alice.accessToken)
            for wrong in [Array(grant.dropLast()), grant + [0], grant.dropLast() + [grant[64] + 27], [UInt8](repeating: 0, count: 65)] {
                var registration = alice.registration()
                registration.grant = wrong
                try await alice.register(registration).expectRefusal(.malformedMessage, .internalError)
            }
        },
        Rule(
            "refusal.grant-signer", .must, "Server Grant", "PROTOCOL.md §7 row 8",
            "The server rejects a grant that the client has not signed."
        ) { play in
            let (alice, mallory) = (play.client(), play.client())
            var registration = alice.registration()
            registration.grant = alice.grant(alice.accessToken, signer: mallory.key)
            try await alice.register(registration).expectRefusal(.malformedMessage, .internalError)
        },
        Rule(
            "refusal.grant-server", .must, "Server Grant", "PROTOCOL.md §7 row 8",
            "The server rejects a grant for another server."
        ) { play in
            let alice = play.client()
            var registration = alice.registration()
            registration.grant = alice.grant(alice.accessToken, server: play.client().key.publicKey)
            try await alice.register(registration).expectRefusal(.malformedMessage, .internalError)
        },
        Rule(
            "refusal.grant-token", .must, "Server Grant", "PROTOCOL.md §7 row 8",
            "The server rejects a grant for another access token."
        ) { play in
            let alice = play.client()
            var registration = alice.registration()
            registration.grant = alice.grant(play.uuid())
            try await alice.register(registration).expectRefusal(.malformedMessage, .internalError)
        },
        Rule(
            "refusal.token-type-zero", .must, "Handle Errors", "PROTOCOL.md §7 row 10",
            "A registration without token_type is UNSUPPORTED_TOKEN_TYPE."
        ) { play in
            try await play.client().register { $0.tokenType = .unknown }
                .expectRefusal(.unsupportedTokenType, referenceError: .malformedMessage)
        },
        Rule(
            "refusal.token-type-unknown", .must, "Handle Errors", "PROTOCOL.md §7 row 10",
            "A registration with a token_type beyond 2 is UNSUPPORTED_TOKEN_TYPE."
        ) { play in
            for type: Int32 in [3, 99, -1] {
                try await play.client().register { $0.tokenType = TokenType(rawValue: type) }
                    .expectRefusal(.unsupportedTokenType, acceptedByReference: true)
            }
        },
        Rule(
            "refusal.no-apn-topic", .must, "Registering Client", "PROTOCOL.md §7 row 11",
            "The server rejects a registration of an iOS device without apn_topic."
        ) { play in
            try await play.client().register { $0.apnTopic = "" }
                .expectRefusal(.malformedMessage, .internalError, acceptedByReference: true)
        },
        Rule(
            "refusal.changes-nothing", .must, "Handle Errors", "PROTOCOL.md §7",
            "A rejected registration changes nothing, and its version stays free."
        ) { play in
            let alice = try await play.registeredClient()
            let token = play.uuid()
            var refused = alice.registration {
                $0.version = 2
                $0.accessToken = AccessToken(token)
            }
            refused.grant = []
            try await alice.register(refused).expectRefusal(.malformedMessage, .internalError)
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.version == 1 && info.accessToken.text == alice.accessToken, "a rejected registration replaced the stored one")
            try await alice.register { $0.version = 2 }.expectSuccess()
        },
    ]

    /// The reference's response to a registration that it cannot decrypt.
    private static let malformedResponse: @Sendable (Mailbox.Received) -> String? = { received in
        let response: PushNotificationRegistrationResponse? = received.decoded(as: .pushNotificationRegistrationResponse)
        return response?.error == .malformedMessage ? "replied with MALFORMED_MESSAGE, as by the reference" : nil
    }
}
