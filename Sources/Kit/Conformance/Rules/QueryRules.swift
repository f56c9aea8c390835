import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    static let queries: [Rule] = [
        Rule(
            "query.info", .must, "Handle Query Response", "PROTOCOL.md §8",
            "The response to a query carries installation_id, public_key, grant and version as they were registered."
        ) { play in
            let alice = play.client()
            let registration = alice.registration { $0.version = 42 }
            try await alice.register(registration).expectSuccess()
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.installationID == alice.installationID, "another installation_id than the registered one")
            try expect(info.publicKey == alice.hash.bytes, "public_key is not the SHAKE-256 of the compressed key")
            try expect(info.version == 42, "expected version 42, received \(info.version)")
            let digest = Grant.digest(client: alice.key.publicKey, server: play.server, accessToken: registration.accessToken)
            try expect(Signature(info.grant)?.isBy(alice.key.publicKey, digest) == true, "the grant does not verify")
        },
        Rule(
            "query.access-token", .must, "Handle Query Response", "PROTOCOL.md §8",
            "Without allowed_key_list the response carries the access token, and no list."
        ) { play in
            let alice = try await play.registeredClient()
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.accessToken.text == alice.accessToken, "the access token is not the registered one")
            try expect(info.allowedKeyList.isEmpty, "allowed_key_list is set though none was registered")
        },
        Rule(
            "query.allowed-keys", .must, "Handle Query Response", "PROTOCOL.md §8",
            "With allowed_key_list the response carries the list as registered, and never the access token."
        ) { play in
            let (alice, bob) = (play.client(), play.client())
            let list = [alice.tokenFor(bob), play.bytes(64), alice.tokenFor(play.client())]
            try await alice.register { $0.allowedKeyList = list }.expectSuccess()
            let info = try await bob.query(alice).onlyInfo()
            try expect(info.accessToken.isEmpty, "the server sends the access token to every sender although a list was registered")
            try expect(info.allowedKeyList == list, "allowed_key_list is not the registered one")
            try expect(
                info.allowedKeyList.contains { bob.tokenFrom(alice, $0) == alice.accessToken }, "the contact cannot decrypt its token")
        },
        Rule(
            "query.contacts-only", .open, "Protobuf Description", "PROTOCOL.md §8",
            "With allow_from_contacts_only and no list the response carries neither token nor list."
        ) { play in
            let alice = try await play.registeredClient { $0.allowFromContactsOnly = true }
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.accessToken.isEmpty && info.allowedKeyList.isEmpty, "untrusted senders get the token of a contacts-only device")
        },
        Rule(
            "query.contacts-only-list", .must, "Protobuf Description", "PROTOCOL.md §8",
            "With allow_from_contacts_only and a list the response carries the list alone."
        ) { play in
            let alice = play.client()
            let list = [alice.tokenFor(play.client())]
            try await alice.register {
                $0.allowFromContactsOnly = true
                $0.allowedKeyList = list
            }.expectSuccess()
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.accessToken.isEmpty, "untrusted senders get the token of a contacts-only device")
            try expect(info.allowedKeyList == list, "allowed_key_list is not the registered one")
        },
        Rule(
            "query.server-key", .must, "Protobuf Description", "PROTOCOL.md §8",
            "server_public_key is the compressed key of the server."
        ) { play in
            let key = try await play.client().query(play.registeredClient()).onlyInfo().serverPublicKey
            try expect(
                key == play.server.compressed.bytes, "server_public_key is not the server's key",
                departure: "server_public_key is empty, as in the reference", if: key.isEmpty)
        },
        Rule(
            "query.topic", .must, "Query Topic", "PROTOCOL.md §2",
            "The server reads queries on the topic of 0x and the hash of the owner's key."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes])
            do {
                _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice, forms: [.prefixed]) }
            } catch is Finding {
                _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice, forms: [.plain]) }
                throw Finding.departs("the topic's name has no 0x, as in the reference")
            }
        },
        Rule(
            "query.reference-topic", .open, nil, "PROTOCOL.md §2",
            "The server also reads queries on the topic of the hash without 0x, where clients of the reference send them."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes])
            _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice, forms: [.plain]) }
        },
        Rule(
            "query.own-topic", .open, nil, "PROTOCOL.md §2",
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
            "query.unknown", .must, "Handle Query Message", "PROTOCOL.md §8",
            "A query about keys that the server does not know gets no reply."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            try await play.expectSilence(toward: bob, departure: emptyQueryResponse) {
                // On a topic that the server reads.
                try await bob.send(query: bob.signedQuery([play.client().hash.bytes]), about: alice)
                try await bob.send(bob.signedQuery([]), .pushNotificationQuery)
            }
        },
        Rule(
            "query.several-keys", .must, "Handle Query Message", "PROTOCOL.md §8",
            "A query about several keys gets the infos of those that are registered."
        ) { play in
            let (alice, carol, bob) = (try await play.registeredClient(), try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes, play.client().hash.bytes, carol.hash.bytes])
            let response = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }.payload
            try expect(
                response.info.count == 2 && Set(response.info.map(\.publicKey)) == [alice.hash.bytes, carol.hash.bytes],
                "expected the infos of two keys, received \(response.info.count) infos")
        },
        Rule(
            "query.installations", .must, "Handle Query Message", "PROTOCOL.md §8",
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
            let found = infos.first { $0.installationID == second.installation }
            try expect(
                found?.accessToken.text == second.token && found?.version == 8, "the info of an installation mixes two registrations")
        },
        Rule(
            "query.malformed-keys", .open, "Handle Query Message", "PROTOCOL.md §8",
            "Entries of a query that are no hash of 64 bytes are ignored, and the response is about the others."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let compressed = alice.key.publicKey.compressed.bytes
            let data = bob.signedQuery([[], compressed, Array(alice.hash.bytes.prefix(32)), alice.hash.bytes, alice.hash.bytes + [0]])
            let info = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }.onlyInfo()
            try expect(info.publicKey == alice.hash.bytes, "the info is about another key")
        },
        Rule(
            "query.repeated", .open, "Handle Query Message", "PROTOCOL.md §8",
            "A query with the same bytes, sent again after a change, gets the new state: clients reuse ephemeral keys."
        ) { play in
            let (alice, bob) = (try await play.registeredClient(), play.client())
            let data = bob.signedQuery([alice.hash.bytes])
            _ = try await bob.queryResponse(to: data) { try await bob.send(query: data, about: alice) }.onlyInfo()
            try await alice.register { $0.version = 2 }.expectSuccess()
            _ = try await bob.queryResponse(to: data, where: { $0.info.first?.version == 2 }) {
                try await bob.send(query: data, about: alice)
            }
        },
        Rule(
            "query.disabled", .open, "Protobuf Description", "PROTOCOL.md §8",
            "A device that is not enabled is registered all the same, and found by queries."
        ) { play in
            let alice = try await play.registeredClient { $0.enabled = false }
            let info = try await play.client().query(alice).onlyInfo()
            try expect(info.accessToken.text == alice.accessToken, "the access token is not the registered one")
        },
    ]
}

extension Client {
    /// Encrypts the access token for a contact, as an entry of allowed_key_list.
    fileprivate func tokenFor(_ contact: Client) -> [UInt8] {
        var random = play.random.generator
        return AESGCM.sealCombined(
            Array(accessToken.utf8).span, key: key.sharedSecret(with: contact.key.publicKey), nonce: random.fixedBytes())
    }

    /// Decrypts an entry of an owner's allowed_key_list; nil if it is for another contact.
    fileprivate func tokenFrom(_ owner: Client, _ entry: [UInt8]) -> String? {
        guard let token = try? AESGCM.openCombined(entry.span, key: key.sharedSecret(with: owner.key.publicKey)) else { return nil }
        return String(validating: token, as: UTF8.self)
    }
}
