import Bytes
import Envelope
import Wire

extension Rule {
    static let versions: [Rule] = [
        Rule(
            "version.equal", .must, "Handle Errors", "PROTOCOL.md §7 row 5",
            "A registration with the stored version and other content is VERSION_MISMATCH, and changes nothing."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 2 }
            let token = play.uuid()
            try await alice.register {
                $0.version = 2
                $0.accessToken = AccessToken(token)
            }.expectRefusal(.versionMismatch)
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.accessToken.text == alice.accessToken, "a registration with an equal version replaced the stored one")
        },
        Rule(
            "version.lower", .must, "Handle Errors", "PROTOCOL.md §7 row 5",
            "A registration with a lower version is VERSION_MISMATCH, and changes nothing."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 7 }
            try await alice.register { $0.version = 6 }.expectRefusal(.versionMismatch)
            let version = try await play.client().query(alice).onlyInfo().version
            try expect(version == 7, "expected the stored version 7, received \(version)")
        },
        Rule(
            "version.retransmission", .open, "Handle Errors", "PROTOCOL.md §7 row 5",
            "The stored registration once more, byte for byte, is a success without a change, or VERSION_MISMATCH."
        ) { play in
            let alice = play.client()
            let registration = alice.registration { $0.version = 4 }
            try await alice.register(registration).expectSuccess()
            let again = try await alice.register(registration)
            if !again.payload.success { try again.expectRefusal(.versionMismatch) }
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.version == 4 && info.accessToken.text == alice.accessToken, "a retransmission changed the registration")
        },
        Rule(
            "version.64-bit", .must, "Handle Errors", "PROTOCOL.md §7",
            "Versions are compared as unsigned 64-bit numbers, up to 2^64 - 1."
        ) { play in
            let alice = play.client()
            // Each differs from the one before in a way that a signed, a 32-bit or a floating-point comparison misses.
            for version: UInt64 in [1, 1 << 32, 1 << 53, 1 << 53 + 1, 1 << 63 - 1, 1 << 63, .max - 1, .max] {
                let reply = try await alice.register { $0.version = version }
                try expect(reply.payload.success, "expected success for version \(version), received \(reply.payload.error.name)")
            }
            let token = play.uuid()
            for version: UInt64 in [.max, 1 << 63, 1 << 63 - 1, 1] {
                try await alice.register {
                    $0.version = version
                    $0.accessToken = AccessToken(token)
                }.expectRefusal(.versionMismatch)
            }
        },
        Rule(
            "version.in-query", .must, "Protobuf Description", "PROTOCOL.md §8",
            "The response to a query carries a version of 2^64 - 1 unchanged."
        ) { play in
            let alice = try await play.registeredClient { $0.version = .max }
            let version = try await play.client().query(alice).onlyInfo().version
            try expect(version == .max, "expected version \(UInt64.max), received \(version)")
        },
        Rule(
            "version.gap", .must, "Registering Client", "PROTOCOL.md §7 row 5",
            "A first registration may have any version but 0, and versions may leave gaps."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 1_700_000_000_000 }
            try await alice.register { $0.version = 1_800_000_000_000 }.expectSuccess()
        },
        Rule(
            "version.replay", .must, "Unregistering with a Server", "PROTOCOL.md §7 row 5",
            "A recorded registration that another client publishes again changes nothing."
        ) { play in
            let alice = play.client()
            let payload = alice.encrypted(alice.registration().encoded())
            let recorded = try play.sealed(alice.signed(payload, .pushNotificationRegistration), signer: alice.key)
            try await alice.registrationResponse(to: payload) { try await play.publish(recorded, on: .partitioned(play.server)) }
                .expectSuccess()
            try await alice.register { $0.version = 2 }.expectSuccess()
            try await play.publish(recorded, on: .partitioned(play.server))
            try await play.expectControlReply()
            let version = try await play.client().query(alice).onlyInfo().version
            try expect(version == 2, "a replayed registration replaced version 2 by version \(version)")
        },
    ]

    static let unregistrations: [Rule] = [
        Rule(
            "unregister.success", .must, "Unregistering with a Server", "PROTOCOL.md §7 row 6",
            "An unregistration with a higher version is a success, and needs neither grant nor tokens."
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: 2).expectSuccess()
        },
        Rule(
            "unregister.no-query", .must, "Unregistering with a Server", "PROTOCOL.md §7 row 6",
            "After an unregistration no query finds the installation."
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: 2).expectSuccess()
            let bob = play.client()
            try await play.expectSilence(toward: bob, departure: emptyQueryResponse) {
                try await bob.send(query: bob.signedQuery([alice.hash.bytes]), about: alice)
            }
        },
        Rule(
            "unregister.no-push", .must, "Unregistering with a Server", "PROTOCOL.md §9",
            "After an unregistration a push request is NOT_REGISTERED."
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: 2).expectSuccess()
            try await play.client().push(to: alice).expectReports(.notRegistered)
        },
        Rule(
            "unregister.tombstone", .must, "Unregistering with a Server", "PROTOCOL.md §7 row 6",
            "The version outlives an unregistration: older registrations are VERSION_MISMATCH."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 3 }
            try await alice.unregister(version: 5).expectSuccess()
            for version: UInt64 in [4, 5] { try await alice.register { $0.version = version }.expectRefusal(.versionMismatch) }
        },
        Rule(
            "unregister.return", .must, "Re-registering with a Server", "PROTOCOL.md §7 row 6",
            "After an unregistration a registration with a higher version is a success."
        ) { play in
            let alice = try await play.registeredClient()
            try await alice.unregister(version: 2).expectSuccess()
            try await alice.register { $0.version = 3 }.expectSuccess()
            try await play.client().push(to: alice).expectReports(nil)
        },
        Rule(
            "unregister.old-version", .must, "Handle Errors", "PROTOCOL.md §7 row 5",
            "An unregistration with the stored version or a lower one is VERSION_MISMATCH, and the registration stays."
        ) { play in
            let alice = try await play.registeredClient { $0.version = 3 }
            for version: UInt64 in [2, 3] { try await alice.unregister(version: version).expectRefusal(.versionMismatch) }
            let version = try await play.client().query(alice).onlyInfo().version
            try expect(version == 3, "expected the stored version 3, received \(version)")
        },
        Rule(
            "unregister.one-of-two", .must, "Unregistering with a Server", "PROTOCOL.md §7",
            "An unregistration leaves the key's other installations registered."
        ) { play in
            let alice = try await play.registeredClient()
            let second = play.uuid()
            try await alice.register { $0.installationID = second }.expectSuccess()
            try await alice.unregister(version: 2).expectSuccess()
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.installationID == second, "the other installation is not the one that is left")
        },
        Rule(
            "unregister.unknown", .open, "Unregistering with a Server", "PROTOCOL.md §7 row 6",
            "An unregistration of what was never registered is a success that keeps its version."
        ) { play in
            let alice = play.client()
            try await alice.unregister(version: 5).expectSuccess()
            try await alice.register { $0.version = 4 }.expectRefusal(.versionMismatch, acceptedByReference: true)
        },
    ]

    /// The reference's response to a query about keys that it does not know.
    static let emptyQueryResponse: @Sendable (Mailbox.Received) -> String? = { received in
        let response: PushNotificationQueryResponse? = received.decoded(as: .pushNotificationQueryResponse)
        return response?.info.isEmpty == true ? "replied with an empty list, as by the reference" : nil
    }
}

extension Client {
    /// Unregisters the installation, with nothing but what an unregistration needs.
    func unregister(version: UInt64) async throws -> ServerReply<PushNotificationRegistrationResponse> {
        var registration = PushNotificationRegistration()
        registration.installationID = installationID
        registration.version = version
        registration.unregister = true
        return try await register(registration)
    }
}
