import Bytes
import Envelope
import StatusCrypto
import Wire

extension Rule {
    /// Values that begin with a zero byte. One in 256 does, so a server that drops the zero fails rarely, and at the same clients always.
    static let chance: [Rule] = [
        Rule(
            "chance.shared-secret", .must, .encryption, "PROTOCOL.md §7",
            "A registration is decrypted if the X of the Diffie–Hellman key begins with a zero."
        ) { play in
            let alice = play.client { $0.sharedSecret(with: play.server).withExposedBytes { $0[0] } == 0 }
            try await alice.register().expectSuccess()
        },
        Rule(
            "chance.grant", .must, .grant, "PROTOCOL.md §7 row 8",
            "A grant is verified if R or S begins with a zero."
        ) { play in
            for offset in [0, 32] {
                let alice = play.client()
                let token = play.value(where: { alice.grant($0)[offset] == 0 }) { play.uuid() }
                try await alice.register { $0.accessToken = AccessToken(token) }.expectSuccess()
            }
        },
        Rule(
            "chance.message-signature", .must, .wrapping, "PROTOCOL.md §5.2",
            "A message is read if R or S of its signature begins with a zero."
        ) { play in
            for offset in [0, 32] {
                let alice = play.client()
                let payload = play.value(where: { payload in
                    alice.key.sign(Keccak.keccak256(payload)).bytes[offset] == 0
                }) { alice.encrypted(alice.registration().encoded()) }
                try await alice.register(encrypted: payload).expectSuccess()
            }
        },
        Rule(
            "chance.topic-key", .must, .queryTopic, "PROTOCOL.md §2",
            "A query is decrypted if its topic's key begins with a zero."
        ) { play in
            for (form, key) in Self.keysWithZeros {
                let (alice, bob) = (try play.client(of: key), play.client())
                try await alice.register { $0.version = play.clockVersion }.expectSuccess()
                let data = bob.signedQuery([alice.hash.bytes])
                _ = try await bob.queryResponse(to: data, on: form, about: alice)
            }
        },
    ]

    /// Keys whose query topic, in this form of its name, has a symmetric key that begins with a zero. Found by trying.
    private static let keysWithZeros: [(TopicName.QueryForm, String)] = [
        (.plain, "5ed56330b7a91b177e4350768b20e79c8666b2469e60eae6b24ad64c2a94551d"),
        (.prefixed, "5ed56330b7a91b177e4350768b20e79c8666b2469e60eae6b24ad64c2a9456b8"),
    ]
}

extension Play {
    /// Creates a client whose key is as wanted, which takes 256 tries on average.
    fileprivate func client(where isWanted: (PrivateKey) -> Bool) -> Client {
        var random = random.generator
        let (key, other) = (value(where: isWanted) { PrivateKey.generate(using: &random) }, client())
        return Client(key: key, device: other.device, former: other.former, play: self, mailbox: network.open(key))
    }

    fileprivate func value<Value>(where isWanted: (Value) -> Bool, _ make: () -> Value) -> Value {
        while true {
            let value = make()
            if isWanted(value) { return value }
        }
    }
}
