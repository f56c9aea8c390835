import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let versions: [Rule] = [
        Rule(
            "version.equal", .must, .oldVersion, "PROTOCOL.md §7 row 5",
            "A registration with the stored version and other content is VERSION_MISMATCH, and changes nothing.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let token = play.uuid()
            try await alice.register { $0.accessToken = AccessToken(token) }.expectRefusal(.versionMismatch)
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.text == alice.accessToken, "a registration with an equal version replaced the stored one")
        },
        Rule(
            "version.lower", .must, .oldVersion, "PROTOCOL.md §7 row 5",
            "A registration with a lower version is VERSION_MISMATCH, and changes nothing.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient { $0.version = 7 }
            try await alice.register { $0.version = 6 }.expectRefusal(.versionMismatch)
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == 7, "expected the stored version 7, received \(version)")
        },
        Rule(
            "version.retransmission", .ours, .oldVersion, "PROTOCOL.md §7 row 5",
            "The stored registration once more, in the same bytes or encrypted anew, is a success without a change, or VERSION_MISMATCH."
        ) { play in
            let alice = play.client()
            let registration = alice.registration { $0.version = 4 }.encoded()
            let payload = alice.encrypted(registration)
            try await alice.register(encrypted: payload).expectSuccess()
            var answers: Set<Bool> = []
            for payload in [payload, alice.encrypted(registration)] {
                let again = try await alice.register(encrypted: payload)
                if !again.payload.success { try again.expectRefusal(.versionMismatch) }
                answers.insert(again.payload.success)
            }
            try expect(answers.count == 1, "the same content gets another answer if it is encrypted anew")
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.version == 4 && info.accessToken.text == alice.accessToken, "a retransmission changed the registration")
        },
        Rule(
            "version.64-bit", .must, .version, "PROTOCOL.md §7",
            "Versions are compared as unsigned 64-bit numbers, up to 2^64 - 1."
        ) { play in
            let alice = play.client()
            // Each differs from the previous version in a way that a signed, a 32-bit or a floating-point comparison misses.
            var newest: UInt64 = 0
            for version: UInt64 in [1, 9, 10, 1 << 32, 1 << 53, 1 << 53 + 1, 1 << 63 - 1, 1 << 63, .max - 1, .max] {
                let reply = try await alice.register { $0.version = version }
                if version >> 63 == 1 {
                    try reply.expectHighVersion(version)
                } else {
                    try expect(reply.payload.success, "expected success for version \(version), received \(reply.payload.error.name)")
                }
                if reply.payload.success { newest = version }
            }
            try await play.client().register { $0.version = 1 << 63 }.expectHighVersion(1 << 63)
            let token = play.uuid()
            for version: UInt64 in [newest, 1 << 63 - 1, 1 << 32, 1] {
                try await alice.register {
                    $0.version = version
                    $0.accessToken = AccessToken(token)
                }.expectRefusal(.versionMismatch)
            }
        },
        Rule(
            "version.in-query", .must,
            .field("PushNotificationQueryInfo", "`version`: the version of the registration on the server."), "PROTOCOL.md §8",
            "The response to a query carries the highest version unchanged."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 1 << 63 - 1 }
            let reply = try await alice.register { $0.version = .max }
            try reply.expectHighVersion(.max)
            let expected = reply.payload.success ? UInt64.max : 1 << 63 - 1
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == expected, "expected version \(expected), received \(version)")
        },
        Rule(
            "version.gap", .must, .version, "PROTOCOL.md §7 row 5",
            "A first registration may have any version but 0, and versions may leave gaps."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 1_700_000_000_000 }
            try await alice.register { $0.version = 1_800_000_000_000 }.expectSuccess()
        },
        Rule(
            "version.replay", .must, .removal, "PROTOCOL.md §7 row 5",
            "A recorded registration that another client publishes again changes nothing.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.owner()
            let payload = alice.encrypted(alice.registration().encoded())
            let recorded = try play.sealed(alice.signed(payload, .pushNotificationRegistration), signer: alice.key)
            try await alice.registrationResponse(to: payload) { try await play.publish(recorded, on: .partitioned(play.server)) }
                .expectSuccess()
            try await alice.register { $0.version = play.version(2) }.expectSuccess()
            try await play.publish(recorded, on: .partitioned(play.server))
            try await play.expectControlReply()
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == play.version(2), "a replayed registration replaced version \(play.version(2)) by version \(version)")
        },
    ]

    static let unregistrations: [Rule] = [
        Rule(
            "unregister.success", .must, .removal, "PROTOCOL.md §7 row 6",
            "An unregistration with a higher version is a success.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: play.version(2)).expectSuccess()
        },
        Rule(
            "unregister.bare", .ours,
            .under("Unregistering with a Server", "with `unregister` set to `true`, or removing their device information."),
            "PROTOCOL.md §7 row 6", "An unregistration needs neither grant nor tokens."
        ) { play in
            let alice = try await play.registeredClient()
            var registration = PushNotificationRegistration()
            registration.installationID = alice.installationID
            registration.version = 2
            registration.unregister = true
            try await alice.register(registration).expectSuccess()
        },
        Rule(
            "unregister.no-query", .must, .removal, "PROTOCOL.md §7 row 6",
            "After an unregistration no query finds the installation.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: play.version(2)).expectSuccess()
            let bob = play.client()
            guard play.history == .second else {
                return try await play.expectSilence(toward: bob, departure: (.repliesWithEmptyList, isEmptyList)) {
                    try await bob.send(query: bob.signedQuery([alice.hash.bytes]), about: alice)
                }
            }
            let infos = try await bob.query(alice).payload.info
            try expect(infos.map(\.installationID) == [alice.former.installationID], "a query finds an unregistered installation")
        },
        Rule(
            "unregister.no-push", .must, .accepted, "PROTOCOL.md §9",
            "After an unregistration a push request is NOT_REGISTERED.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: play.version(2)).expectSuccess()
            try await play.client().push(to: alice).expectReports(.notRegistered)
        },
        Rule(
            "unregister.tombstone", .must, .removal, "PROTOCOL.md §7 row 6",
            "The version outlives an unregistration: older registrations are VERSION_MISMATCH.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient { $0.version = 3 }
            try await alice.unregister(version: 5).expectSuccess()
            for version: UInt64 in [4, 5] { try await alice.register { $0.version = version }.expectRefusal(.versionMismatch) }
        },
        Rule(
            "unregister.return", .must, .version, "PROTOCOL.md §7 row 6",
            "After an unregistration a registration with a higher version is a success.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: play.version(2)).expectSuccess()
            try await alice.register { $0.version = play.version(3) }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
        },
        Rule(
            "unregister.old-version", .must, .oldVersion, "PROTOCOL.md §7 row 5",
            "An unregistration with the stored version or a lower one is VERSION_MISMATCH, and the registration stays.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient { $0.version = 5 }
            for version: UInt64 in [4, 5] { try await alice.unregister(version: version).expectRefusal(.versionMismatch) }
            let version = try await play.client().query(alice).info(of: alice).version
            try expect(version == 5, "expected the stored version 5, received \(version)")
        },
        Rule(
            "unregister.one-of-two", .must, .removal, "PROTOCOL.md §7",
            "An unregistration leaves the key's other installations registered."
        ) { play in
            let alice = try await play.registeredClient()
            let second = play.uuid()
            try await alice.register { $0.installationID = second }.expectSuccess()
            try await alice.unregister(version: 2).expectSuccess()
            let infos = try await play.client().query(alice).payload.info
            try expect(infos.map(\.installationID) == [second], "the other installation is not the one that is left")
        },
        Rule(
            "unregister.unknown", .ours, .removal, "PROTOCOL.md §7 row 6",
            "An unregistration of what was never registered is a success that keeps its version."
        ) { play in
            let alice = play.client()
            try await alice.unregister(version: 5).expectSuccess()
            try await alice.register { $0.version = 4 }.expectRefusal(.versionMismatch, orDeparts: .forgetsUnknownInstallations)
        },
    ]

    /// Whether a message is the reference's response to a query about keys that it does not know.
    static let isEmptyList: @Sendable (Mailbox.Received) -> Bool = { received in
        let response: PushNotificationQueryResponse? = received.decoded(as: .pushNotificationQueryResponse)
        return response?.info.isEmpty == true
    }
}

extension ServerReply<PushNotificationRegistrationResponse> {
    /// Expects success for a version from 2^63 on. The reference's database cannot store them, so the reference rejects them all.
    fileprivate func expectHighVersion(_ version: UInt64) throws {
        try play.expect(
            payload.success, orDeparts: .refusesHighVersions, if: true,
            "expected success for version \(version), received \(payload.error.name)")
    }
}
