import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let refusals: [Rule] = [
        refusal(
            "refusal.undecryptable", .must, .undecryptable, "PROTOCOL.md §7 row 1",
            "A registration that cannot be decrypted with the shared key of client and server is discarded."
        ) { play in
            let (alice, mallory) = (try await play.registeredClient(), play.client())
            try await play.expectSilence(toward: alice, mallory, departure: (.repliesToUndecryptable, isMalformedMessage)) {
                let foreign = alice.encrypted(alice.registration().encoded(), for: play.client().key.publicKey)
                try await alice.send(foreign, .pushNotificationRegistration)
                // Another client's registration, signed again.
                let recorded = play.client()
                try await mallory.send(recorded.encrypted(recorded.registration().encoded()), .pushNotificationRegistration)
                try await mallory.send([1, 2, 3], .pushNotificationRegistration)
            }
        },
        refusal(
            "refusal.no-protobuf", .ours, .otherError, "PROTOCOL.md §7 row 2",
            "The server rejects a registration that decrypts to no protobuf message."
        ) { play in
            let alice = try await play.owner()
            // A field that is longer than the message. A string that is not UTF-8.
            for plaintext: [UInt8] in [[0x12, 0x7F, 0x01], [0x1A, 0x02, 0xFF, 0xFE] + alice.registration().encoded()] {
                try await alice.register(encrypted: alice.encrypted(plaintext)).expectRefusal(.malformedMessage, .internalError)
            }
        },
        refusal(
            "refusal.version-zero", .must, .emptyField, "PROTOCOL.md §7 row 3",
            "A registration without version is MALFORMED_MESSAGE."
        ) { play in
            try await play.owner().register { $0.version = 0 }
                .expectRefusal(.malformedMessage, orDeparts: .refusesVersionZeroAsOld, referenceError: .versionMismatch)
        },
        refusal(
            "refusal.no-installation", .must, .emptyField, "PROTOCOL.md §7 row 4",
            "A registration without installation_id is MALFORMED_MESSAGE."
        ) { play in
            try await play.owner().register { $0.installationID = "" }.expectRefusal(.malformedMessage)
        },
        refusal(
            "refusal.no-device-token", .must, .emptyField, "PROTOCOL.md §7 row 9",
            "A registration without device_token is MALFORMED_MESSAGE, on either platform."
        ) { play in
            for platform in [TokenType.apn, .firebase] {
                try await play.owner(on: platform).register { $0.deviceToken = "" }.expectRefusal(.malformedMessage)
            }
        },
        refusal(
            "refusal.no-access-token", .must, .emptyField, "PROTOCOL.md §7 row 7",
            "A registration without access_token is MALFORMED_MESSAGE."
        ) { play in
            try await play.owner().register { $0.accessToken = "" }.expectRefusal(.malformedMessage)
        },
        refusal(
            "refusal.token-no-uuid", .must, .uuid, "PROTOCOL.md §7 row 7",
            "The server rejects a registration whose access_token is not a UUID."
        ) { play in
            let alice = try await play.owner()
            for token in wrongForms(of: play.uuid()) {
                try await alice.register { $0.accessToken = AccessToken(token) }.expectRefusal(.malformedMessage, .internalError)
            }
        },
        refusal(
            "refusal.no-grant", .must,
            .under("Registering Client", "it MUST verify that `grant` is non empty and according to the Grant Server specs."),
            "PROTOCOL.md §7 row 8", "The server rejects a registration without a grant."
        ) { play in
            let alice = try await play.owner()
            try await alice.register(alice.registration(grant: [])).expectRefusal(.malformedMessage, .internalError)
        },
        refusal(
            "refusal.grant-form", .must, .grant, "PROTOCOL.md §7 row 8",
            "The server rejects a registration whose grant is not a signature of 65 bytes with V 0 or 1."
        ) { play in
            let alice = try await play.owner()
            let grant = alice.grant(alice.accessToken)
            let (r, s, v) = (Array(grant[..<32]), Array(grant[32..<64]), grant[64])
            let (zero, tooLarge) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32))
            let wrong: [[UInt8]] = [
                r + s, grant + [0], [0] + grant, r + s + [v + 27], r + s + [v + 2], r + s + [1 - v], s + r + [v],
                zero + s + [v], r + zero + [v], tooLarge + s + [v], r + tooLarge + [v], zero + zero + [0],
            ]
            for grant in wrong {
                try await alice.register(alice.registration(grant: grant)).expectRefusal(.malformedMessage, .internalError)
            }
        },
        refusal(
            "refusal.grant-signer", .must, .grant, "PROTOCOL.md §7 row 8",
            "The server rejects a grant that the client has not signed."
        ) { play in
            let (alice, mallory) = (try await play.owner(), play.client())
            let grants = [alice.grant(alice.accessToken, signer: mallory.key), mallory.grant(alice.accessToken)]
            for grant in grants {
                try await alice.register(alice.registration(grant: grant)).expectRefusal(.malformedMessage, .internalError)
            }
        },
        refusal(
            "refusal.grant-server", .must,
            .under("PushNotificationRegistration", "`grant`: the grant for this specific server."), "PROTOCOL.md §7 row 8",
            "The server rejects a grant for another server."
        ) { play in
            let alice = try await play.owner()
            let grant = alice.grant(alice.accessToken, server: play.client().key.publicKey)
            try await alice.register(alice.registration(grant: grant)).expectRefusal(.malformedMessage, .internalError)
        },
        refusal(
            "refusal.grant-token", .must, .grant, "PROTOCOL.md §7 row 8",
            "The server rejects a grant for another access token, also for an earlier one of the same device."
        ) { play in
            let alice = try await play.owner()
            for token in [play.uuid(), alice.former.accessToken] {
                try await alice.register(alice.registration(grant: alice.grant(token))).expectRefusal(.malformedMessage, .internalError)
            }
        },
        refusal(
            "refusal.token-type-zero", .must, .unsupportedType, "PROTOCOL.md §7 row 10",
            "A registration without token_type is UNSUPPORTED_TOKEN_TYPE."
        ) { play in
            try await play.owner().register { $0.tokenType = .unknown }
                .expectRefusal(.unsupportedTokenType, orDeparts: .refusesTypeZeroAsMalformed, referenceError: .malformedMessage)
        },
        refusal(
            "refusal.token-type-unknown", .must, .unsupportedType, "PROTOCOL.md §7 row 10",
            "A registration with a token_type beyond 2 is UNSUPPORTED_TOKEN_TYPE."
        ) { play in
            for type: Int32 in [3, 99, -1] {
                try await play.owner().register { $0.tokenType = TokenType(rawValue: type) }
                    .expectRefusal(.unsupportedTokenType, orDeparts: .acceptsUnknownTypes)
            }
        },
        Rule(
            "refusal.old-and-unsupported", .ours, nil, "PROTOCOL.md §7 row 5",
            "An old version is VERSION_MISMATCH, whatever else is wrong: the version is checked before the token type."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 7 }
            try await alice.register {
                $0.version = 6
                $0.tokenType = TokenType(rawValue: 99)
            }.expectRefusal(.versionMismatch)
        },
        Rule(
            "refusal.two-mistakes", .ours, nil, "PROTOCOL.md §7",
            "Of two mistakes in a registration, the one that is checked earlier decides."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 7 }
            for (number, (first, second)) in pairs.enumerated() {
                var registration = alice.registration {
                    $0.version = UInt64(8 + number)
                    first.make(&$0)
                    second.make(&$0)
                }
                if [first, second].contains(.grant) { registration.grant = [] }
                let reply = try await alice.register(registration)
                do {
                    try reply.expectRefusal(first.error, orDeparts: first.departure, referenceError: first.referenceError)
                } catch let finding as Finding {
                    throw Finding.fails("\(first.rawValue) and \(second.rawValue): \(finding.sentence)")
                }
            }
        },
        refusal(
            "refusal.no-apn-topic", .must, .bundleID, "PROTOCOL.md §7 row 11",
            "The server rejects a registration of an iOS device without apn_topic."
        ) { play in
            try await play.owner().register { $0.apnTopic = "" }
                .expectRefusal(.malformedMessage, .internalError, orDeparts: .acceptsMissingBundleID)
        },
        refusal(
            "refusal.changes-nothing", .must, .success, "PROTOCOL.md §7",
            "A rejected registration changes nothing, and its version stays free."
        ) { play in
            let alice = try await play.registeredClient()
            let token = play.uuid()
            var refused = alice.registration {
                $0.version = play.version(2)
                $0.accessToken = AccessToken(token)
            }
            refused.grant = []
            try await alice.register(refused).expectRefusal(.malformedMessage, .internalError)
            let info = try await play.client().query(alice).info(of: alice)
            try expect(
                info.version == play.version(1) && info.accessToken.text == alice.accessToken,
                "a rejected registration replaced the stored one")
            try await alice.register { $0.version = play.version(2) }.expectSuccess()
        },
    ]

    /// Mistakes of which the first decides. Other pairs have one error. No version is an old one, too.
    private static let pairs: [(Mistake, Mistake)] =
        [(.version, .unregistration), (.version, .tokenType), (.installationID, .unregistration), (.installationID, .tokenType)]
        + [.unregistration, .accessToken, .grant, .deviceToken, .tokenType, .apnTopic].map { (.oldVersion, $0) }
        + [(.accessToken, .tokenType), (.grant, .tokenType), (.deviceToken, .tokenType), (.tokenType, .apnTopic)]

    /// Creates a rule about a registration that the server rejects, whatever the client has registered before.
    private static func refusal(
        _ id: String, _ level: Level, _ place: Place, _ reference: String, _ title: String,
        scenario: @escaping @Sendable (Play) async throws -> Void
    ) -> Rule {
        Rule(id, level, place, reference, title, histories: RegistrationHistory.allCases, scenario: scenario)
    }

    /// Returns texts that each differ from a UUID in a single way.
    private static func wrongForms(of uuid: String) -> [String] {
        let digits = uuid.filter { $0 != "-" }
        let groups = uuid.split(separator: "-")
        // For each group, a text with a wrong character in it.
        let wrongDigits = groups.indices.map { index in
            groups.enumerated().map { $0.offset == index ? $0.element.dropLast() + "g" : $0.element }.joined(separator: "-")
        }
        return wrongDigits + [
            "token", uuid + "0", String(uuid.dropLast()), " " + uuid, uuid + "\n", uuid.replacing("-", with: "_"),
            // All hyphens come a character too late.
            digits.prefix(9) + "-" + digits.dropFirst(9).prefix(4) + "-" + digits.dropFirst(13).prefix(4) + "-"
                + digits.dropFirst(17).prefix(4) + "-" + digits.dropFirst(21),
            String(digits.dropLast()), digits + "0", "{" + uuid, uuid + "}", "urn:uuid:", "uuid:" + uuid,
        ]
    }

    /// Whether a message is the reference's response to a registration that it cannot decrypt.
    private static let isMalformedMessage: @Sendable (Mailbox.Received) -> Bool = { received in
        let response: PushNotificationRegistrationResponse? = received.decoded(as: .pushNotificationRegistrationResponse)
        return response?.error == .malformedMessage
    }
}

/// What is wrong with a registration, or what ends its checks, in the order of PROTOCOL.md §7.
private enum Mistake: String {
    case version = "no version"
    case installationID = "no installation_id"
    case oldVersion = "an old version"
    case unregistration = "unregister"
    case accessToken = "an access_token that is no UUID"
    case grant = "no grant"
    case deviceToken = "no device_token"
    case tokenType = "an unknown token_type"
    case apnTopic = "no apn_topic"

    /// Makes it, but for the grant, which is signed last.
    func make(_ registration: inout PushNotificationRegistration) {
        switch self {
        case .version: registration.version = 0
        case .installationID: registration.installationID = ""
        // The installation has version 7.
        case .oldVersion: registration.version = 6
        case .unregistration: registration.unregister = true
        case .accessToken: registration.accessToken = "no UUID"
        case .grant: break
        case .deviceToken: registration.deviceToken = ""
        case .tokenType: registration.tokenType = TokenType(rawValue: 99)
        case .apnTopic: registration.apnTopic = ""
        }
    }

    var error: RegistrationError {
        switch self {
        case .oldVersion: .versionMismatch
        case .tokenType: .unsupportedTokenType
        default: .malformedMessage
        }
    }

    /// What the reference does if it is the first of two.
    var departure: Departure? {
        switch self {
        case .version: .refusesVersionZeroAsOld
        case .tokenType: .acceptsUnknownTypes
        default: nil
        }
    }

    var referenceError: RegistrationError? { self == .version ? .versionMismatch : nil }
}

extension Client {
    /// Composes a registration with another grant than its own.
    fileprivate func registration(grant: [UInt8]) -> PushNotificationRegistration {
        var registration = registration()
        registration.grant = grant
        return registration
    }
}
