import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let queries: [Rule] = [
        Rule(
            "query.info", .must, .field("PushNotificationQueryInfo", "`grant`: the grant used to register with this server."),
            "PROTOCOL.md §8", "The response to a query carries installation_id, public_key, grant and version as they were registered.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.owner()
            let registration = alice.registration { $0.version = 42 }
            try await alice.register(registration).expectSuccess()
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.publicKey == alice.hash.bytes, "public_key is not the SHAKE-256 of the compressed key")
            try expect(info.version == 42, "expected version 42, received \(info.version)")
            let digest = Grant.digest(client: alice.key.publicKey, server: play.server, accessToken: registration.accessToken)
            try expect(Signature(info.grant)?.isBy(alice.key.publicKey, digest) == true, "the grant does not verify")
        },
        Rule(
            "query.access-token", .must, .shownToken, "PROTOCOL.md §8",
            "Without allowed_key_list the response carries the access token, and no list.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.text == alice.accessToken, "the access token is not the registered one")
            try expect(info.allowedKeyList.isEmpty, "allowed_key_list is set though none was registered")
        },
        Rule(
            "query.allowed-keys", .must, .hiddenToken, "PROTOCOL.md §8",
            "With allowed_key_list the response carries the list as registered, and never the access token.",
            histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (try await play.owner(before: { $0.allowFromContactsOnly = false }), play.client())
            let list = play.list(endingWith: alice.tokenFor(bob))
            try await alice.register { $0.allowedKeyList = list }.expectSuccess()
            let info = try await bob.query(alice).info(of: alice)
            try play.expect(
                info.accessToken.isEmpty, orDeparts: .hidesTokenByFlagOnly,
                if: info.accessToken.text == alice.accessToken && info.allowedKeyList.isEmpty,
                "the server sends the access token to every sender although a list was registered")
            if info.accessToken.isEmpty { try info.expectList(list, of: alice, for: bob) }
        },
        Rule(
            "query.contacts-only", .ours, .shownToken, "PROTOCOL.md §8",
            "With allow_from_contacts_only and no list the response carries neither token nor list.",
            histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient {
                $0.allowFromContactsOnly = true
            } before: {
                $0.allowFromContactsOnly = false
            }
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.isEmpty && info.allowedKeyList.isEmpty, "untrusted senders get the token of a contacts-only device")
        },
        Rule(
            "query.contacts-only-list", .must, .hiddenToken, "PROTOCOL.md §8",
            "With allow_from_contacts_only and a list the response carries the list alone.", histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (
                try await play.owner {
                    $0.allowFromContactsOnly = false
                    $0.allowedKeyList = []
                }, play.client()
            )
            let list = play.list(endingWith: alice.tokenFor(bob))
            try await alice.register {
                $0.allowFromContactsOnly = true
                $0.allowedKeyList = list
            }.expectSuccess()
            let info = try await bob.query(alice).info(of: alice)
            try expect(info.accessToken.isEmpty, "untrusted senders get the token of a contacts-only device")
            try info.expectList(list, of: alice, for: bob)
        },
        Rule(
            "query.server-key", .must,
            .field("PushNotificationQueryInfo", "`server_public_key`: the compressed public key of the server."), "PROTOCOL.md §8",
            "server_public_key is the compressed key of the server.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient()
            let key = try await play.client().query(alice).info(of: alice).serverPublicKey
            try play.expect(
                key == play.server.compressed.bytes, orDeparts: .omitsServerKey, if: key.isEmpty,
                "server_public_key is not the server's key")
        },
        Rule(
            "query.topic", .must,
            .under("Query Topic", "On successful registration the server MUST be listening to the topic derived from"),
            "PROTOCOL.md §2", "The server reads queries on the topic of 0x and the hash of the owner's key.",
            histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes])
            do {
                _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice, forms: [.prefixed]) }
            } catch let missing as Overdue {
                // Another key, so that the reply is not taken for a late one to the first query.
                let carol = play.client()
                let data = carol.signedQuery([alice.hash.bytes])
                _ = try await carol.queryResponse(to: data) { try await carol.send(query: data, about: alice, forms: [.plain]) }
                throw missing.departing(.listensWithoutPrefix)
            }
            try play.expect(true, orDeparts: .listensWithoutPrefix, if: false, "")
        },
        Rule(
            "query.reference-topic", .ours, nil, "PROTOCOL.md §2",
            "The server also reads queries on the topic of the hash without 0x, where clients of the reference send them.",
            histories: RegistrationHistory.allCases
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes])
            _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice, forms: [.plain]) }
        },
        Rule(
            "query.own-topic", .ours, nil, "PROTOCOL.md §2",
            "The server also replies to queries that arrive on the topics of its own key."
        ) { play in
            let alice = try await play.registeredClient()
            for topic in [TopicName.partitioned(play.server), .personal(play.server)] {
                let bob = play.client()
                let data = bob.signedQuery([alice.hash.bytes])
                _ = try await bob.queryResponse(to: data) { try await bob.send(data: data, on: topic) }
            }
        },
        Rule(
            "query.unknown", .ours, .knownClient, "PROTOCOL.md §8",
            "A query about keys that the server does not know gets no reply."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await play.expectSilence(toward: bob, departure: (.repliesWithEmptyList, isEmptyList)) {
                // On a topic that the server reads.
                try await bob.send(query: bob.signedQuery([play.client().hash.bytes]), about: alice)
                try await bob.send(bob.signedQuery([]), .pushNotificationQuery)
            }
        },
        Rule(
            "query.several-keys", .must, .knownClient, "PROTOCOL.md §8",
            "A query about several keys gets the infos of those that are registered."
        ) { play in
            let (alice, carol) = (try await play.registeredClient(), try await play.registeredClient())
            try await expectInfos(of: [alice, carol], among: [alice.hash.bytes, play.client().hash.bytes, carol.hash.bytes], play)
        },
        Rule(
            "query.same-installation", .must, .knownClient, "PROTOCOL.md §8",
            "A query about two owners whose devices have one installation_id gets an info for each, with its own token and version."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), play.client(), play.client())
            try await carol.register { ($0.installationID, $0.version) = (alice.installationID, 8) }.expectSuccess()
            let data = bob.signedQuery([alice.hash.bytes, carol.hash.bytes])
            let infos = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }.payload.info
            try expect(infos.count == 2, "expected 2 infos, received \(infos.count)")
            for (owner, version) in [(alice, 1 as UInt64), (carol, 8)] {
                let info = infos.first { $0.publicKey == owner.hash.bytes }
                try expect(
                    info?.accessToken.text == owner.accessToken && info?.version == version && info?.installationID == alice.installationID,
                    "the info about an owner mixes two owners")
            }
        },
        Rule(
            "query.many-keys", .ours, .knownClient, "PROTOCOL.md §8",
            "Queries of 1, 3 and 100 keys get the infos of all of them that are registered."
        ) { play in
            let owners = try await [play.registeredClient(), play.registeredClient(), play.registeredClient(), play.registeredClient()]
            let hashes = owners.map { $0.hash.bytes }
            try await expectInfos(of: [owners[0]], among: [hashes[0]], play)
            try await expectInfos(of: Array(owners.prefix(3)), among: Array(hashes.prefix(3)), play)
            let unknown = (0..<96).map { _ in play.bytes(64) }
            try await expectInfos(
                of: owners, among: [hashes[0]] + unknown.prefix(50) + hashes[1...2] + unknown.dropFirst(50) + [hashes[3]], play)
        },
        Rule(
            "query.installations", .must, .knownClient, "PROTOCOL.md §8",
            "A query gets one info for each installation of a key, with its own token and version."
        ) { play in
            let alice = try await play.registeredClient()
            let second = (installation: play.uuid(), token: play.uuid())
            try await alice.register {
                $0.installationID = second.installation
                $0.accessToken = AccessToken(second.token)
                $0.version = 8
            }.expectSuccess()
            let infos = try await play.client().query(alice).payload.info
            try expect(infos.count == 2, "expected 2 infos, received \(infos.count)")
            for (installation, token, version) in [
                (alice.installationID, alice.accessToken, 1 as UInt64), (second.installation, second.token, 8),
            ] {
                let found = infos.first { $0.installationID == installation }
                try expect(
                    found?.accessToken.text == token && found?.version == version, "the info of an installation mixes two registrations")
            }
        },
        Rule(
            "query.one-filtered", .must, .hiddenToken, "PROTOCOL.md §8",
            "If one of a key's two devices has an allowed_key_list, the response has its list and the token of the other."
        ) { play in
            for filtered in [0, 1] {
                let (alice, list) = (play.client(), [play.bytes(64)])
                let devices = [(id: alice.installationID, token: alice.accessToken), (id: play.uuid(), token: play.uuid())]
                for (index, device) in devices.enumerated() {
                    try await alice.register {
                        ($0.installationID, $0.accessToken, $0.version) = (device.id, AccessToken(device.token), UInt64(index + 1))
                        guard index == filtered else { return }
                        // The reference shows a list only with this flag.
                        $0.allowFromContactsOnly = true
                        $0.allowedKeyList = list
                    }.expectSuccess()
                }
                let infos = try await play.client().query(alice).payload.info
                try expect(infos.count == 2, "expected 2 infos, received \(infos.count)")
                for (index, device) in devices.enumerated() {
                    let info = infos.first { $0.installationID == device.id }
                    let (token, shown) = index == filtered ? ("", list) : (device.token, [])
                    try expect(
                        info?.accessToken.text == token && info?.allowedKeyList == shown,
                        "the \(index == filtered ? "list" : "token") of a device is shown as another device wants it")
                }
            }
        },
        Rule(
            "query.malformed-keys", .ours, .knownClient, "PROTOCOL.md §8",
            "Entries of a query that are no hash of 64 bytes are ignored, and the response is about the others."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let compressed = alice.key.publicKey.compressed.bytes
            let data = bob.signedQuery([[], compressed, Array(alice.hash.bytes.prefix(32)), alice.hash.bytes, alice.hash.bytes + [0]])
            let info = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }.info(of: alice)
            try expect(info.publicKey == alice.hash.bytes, "the info is about another key")
        },
        Rule(
            "query.repeated", .ours, .knownClient, "PROTOCOL.md §8",
            "A query with the same bytes, sent again after a change, gets the new state: clients reuse ephemeral keys."
        ) { play in
            // A server may know a query as repeated for two seconds.
            try await play.asking {
                let (alice, bob) = (try await play.registeredClient(), play.client())
                let data = bob.signedQuery([alice.hash.bytes])
                let first = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }
                _ = try first.info(of: alice)
                try await alice.register { $0.version = 2 }.expectSuccess()
                let second = try await bob.queryResponse(to: data, isFirst: false, where: { $0.info.first?.version == 2 }) {
                    try await bob.send(query: data, about: alice)
                }
                let time = first.sentAt.duration(to: second.received.arrivedAt)
                return time < .seconds(2) ? nil : "the same query came again only after \(time.text)"
            }
        },
        Rule(
            "query.disabled", .ours, .enabled, "PROTOCOL.md §8",
            "A device that is not enabled is registered all the same, and found by queries.", histories: RegistrationHistory.allCases
        ) { play in
            let alice = try await play.registeredClient {
                $0.enabled = false
            } before: {
                $0.enabled = true
            }
            let info = try await play.client().query(alice).info(of: alice)
            try expect(info.accessToken.text == alice.accessToken, "the access token is not the registered one")
        },
    ]

    /// Expects the infos of owners, and no others, in the response to a query for hashes.
    private static func expectInfos(of owners: [Client], among hashes: [[UInt8]], _ play: Play) async throws {
        let bob = play.client()
        let data = bob.signedQuery(hashes)
        let response = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: owners[0]) }.payload
        try expect(
            response.success && response.info.count == owners.count
                && Set(response.info.map(\.publicKey)) == Set(owners.map { $0.hash.bytes }),
            "expected the infos of \(owners.count) of \(hashes.count) keys, received \(response.info.count)")
    }
}

extension PushNotificationQueryInfo {
    /// Expects a list of allowed keys in which a contact finds its token.
    fileprivate func expectList(_ list: [[UInt8]], of owner: Client, for contact: Client) throws {
        try expect(allowedKeyList == list, "allowed_key_list is not the registered one")
        try expect(
            allowedKeyList.contains { contact.tokenFrom(owner, $0) == owner.accessToken }, "the contact cannot decrypt its token")
    }
}

extension Client {
    /// Encrypts the access token for a contact, as an entry of allowed_key_list.
    fileprivate func tokenFor(_ contact: Client) -> [UInt8] {
        var random = play.random.generator
        return AESGCM.sealCombined(
            Array(accessToken.utf8).span, key: key.sharedSecret(with: contact.key.publicKey), nonce: random.fixedBytes())
    }

    /// Decrypts an entry in an owner's allowed_key_list, or returns nil if it is for another contact.
    fileprivate func tokenFrom(_ owner: Client, _ entry: [UInt8]) -> String? {
        guard let token = try? AESGCM.openCombined(entry.span, key: key.sharedSecret(with: owner.key.publicKey)) else { return nil }
        return String(validating: token, as: UTF8.self)
    }
}
