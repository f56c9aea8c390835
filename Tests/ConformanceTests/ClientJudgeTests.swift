import Bytes
import Envelope
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Conformance

/// The judge of clients: golden traffic passes, and each mistake is named.
@Suite(.safetyNet)
struct ClientJudgeTests {
    private static let now = Timestamp(nanoseconds: 1_700_000_000_000_000_000)

    private let serverKey: PrivateKey
    private let client: ProtocolClient

    init() {
        var random = SecureRandom()
        serverKey = PrivateKey.generate(using: &random)
        client = ProtocolClient(server: serverKey.publicKey)
    }

    // MARK: Golden traffic

    @Test func `what the reference sends is right, but for what its test sends wrong on purpose`() throws {
        let flow = try GoldenFlow.load().mainFlow
        var judge = ClientJudge(server: try Self.privateKey(flow.serverPrivateKey))
        var findings: [String: [String]] = [:]
        for step in flow.steps {
            guard let message = judge.judge(step.in.wakuEnvelope, now: Self.now) else { continue }
            if !message.findings.isEmpty { findings[step.note] = message.findings.map { $0.field ?? $0.layer.rawValue } }
        }
        #expect(
            findings == [
                "lower version": ["version"],
                "wrong token, not registered installation, not registered key, unknown type (0), all message types": [
                    "requests[0].access_token", "requests[3].type", "requests[6].type",
                ],
                "register again with the version used to unregister": ["version"], "unregister with a version not higher": ["version"],
            ])
    }

    @Test func `a registration of the reference in segments is right, and so is the query after it`() throws {
        let flow = try GoldenFlow.load().segmentedRegistration
        var judge = ClientJudge(server: try Self.privateKey(flow.serverPrivateKey))
        let messages = flow.steps.compactMap { judge.judge($0.in.wakuEnvelope, now: Self.now) }
        #expect(messages == [JudgedMessage(kind: .registration, findings: []), JudgedMessage(kind: .query, findings: [])])
    }

    private static func privateKey(_ bytes: HexBytes) throws -> PrivateKey {
        try PrivateKey(#require(FixedBytes<32>(bytes.bytes)))
    }

    // MARK: Layers

    private func judge(_ envelope: WakuEnvelope) -> JudgedMessage? {
        var judge = ClientJudge(server: serverKey)
        return judge.judge(envelope, now: Self.now)
    }

    private func registration(_ change: (inout PushNotificationRegistration) -> Void = { _ in }) throws -> WakuEnvelope {
        var registration = client.registration()
        change(&registration)
        return try client.toServer(
            client.encrypted(registration), type: .pushNotificationRegistration, topic: .personal(serverKey.publicKey))
    }

    @Test func `a right registration has no findings, and the same envelope is judged once`() throws {
        var judge = ClientJudge(server: serverKey)
        let envelope = try registration()
        #expect(judge.judge(envelope, now: Self.now) == JudgedMessage(kind: .registration, findings: []))
        #expect(judge.judge(envelope, now: Self.now) == nil)
    }

    @Test func `messages for others are not judged`() throws {
        var random = SecureRandom()
        let other = ProtocolClient(server: PrivateKey.generate(using: &random).publicKey)
        let envelope = try other.toServer([1], type: .pushNotificationQuery, topic: .personal(other.server))
        #expect(judge(envelope) == nil)
    }

    @Test func `the first wrong layer is named`() throws {
        func layer(_ envelope: WakuEnvelope) -> ClientFinding.Layer? { judge(envelope)?.findings.first?.layer }
        func changed(_ change: (inout WakuMessage) -> Void) throws -> WakuEnvelope {
            var envelope = try registration()
            change(&envelope.message)
            return envelope
        }
        #expect(layer(try changed { $0.contentTopic = "/waku/1/0x00000000/rfc26" }) == .topic)
        #expect(layer(try changed { $0.contentTopic = "/status/1/push/proto" }) == .topic)
        #expect(layer(try changed { $0.version = 2 }) == .version)
        #expect(layer(try changed { $0.version = 0 }) == nil)
        #expect(layer(try changed { $0.payload[$0.payload.count - 1] ^= 1 }) == .frame)

        let payload = client.encrypted(client.registration())
        func sent(_ payload: [UInt8], _ type: MessageType) throws -> WakuEnvelope {
            try client.toServer(payload, type: type, topic: .partitioned(serverKey.publicKey))
        }
        #expect(layer(try sent(payload, .pushNotificationRegistrationResponse)) == .type)
        #expect(judge(try sent(payload, .pushNotificationRegistrationResponse))?.kind == .unknown)
        #expect(layer(try sent(client.registration().encoded(), .pushNotificationRegistration)) == .encryption)
        #expect(layer(try sent(Array(payload.dropFirst(12) + payload.prefix(12)), .pushNotificationRegistration)) == .encryption)
        #expect(layer(try sent([0x0A, 0x7F, 1], .pushNotificationRequest)) == .protobuf)
        #expect(layer(try sent(PushNotificationQuery().encoded(), .pushNotificationQuery)) == .topic)
        var unsigned = ApplicationMetadataMessage()
        unsigned.payload = payload
        unsigned.type = .pushNotificationRegistration
        var random = SecureRandom()
        let sealed = try RFC26.sealAsymmetric(unsigned.encoded(), to: serverKey.publicKey, signer: client.key, using: &random)
        #expect(layer(client.wrap(sealed, topic: TopicName.personal(serverKey.publicKey).topic)) == .signature)
    }

    @Test(arguments: ["SHA3-256", "SHA-256"]) func `a message that is signed over another hash is named, and not its encryption`(
        name: String
    ) throws {
        let payload = client.encrypted(client.registration())
        let digest = name == "SHA3-256" ? Keccak.sha3(payload) : SHA256.hash(payload)
        var message = ApplicationMetadataMessage()
        message.signature = client.key.sign(digest).bytes.bytes
        message.payload = payload
        message.type = .pushNotificationRegistration
        var random = SecureRandom()
        let sealed = try RFC26.sealAsymmetric(message.encoded(), to: serverKey.publicKey, signer: client.key, using: &random)
        let findings = judge(client.wrap(sealed, topic: TopicName.personal(serverKey.publicKey).topic))?.findings ?? []
        #expect(findings.map(\.layer) == [.signature])
        #expect(findings.first?.sentence.hasPrefix("the message is signed over the \(name) of its payload") == true)
    }

    @Test func `the hashed key of libsecp256k1 is named`() throws {
        var names: Set<String> = []
        // Both signs of Y, each of every second key.
        for _ in 1...12 {
            var random = SecureRandom()
            let client = ProtocolClient(server: serverKey.publicKey)
            let x = client.key.sharedSecret(with: serverKey.publicKey).withExposedBytes { FixedBytes<32>($0)?.bytes ?? [] }
            for sign: UInt8 in [2, 3] {
                let key = SymmetricKey(SHA256.hash([sign] + x))
                let payload = AESGCM.sealCombined(client.registration().encoded().span, key: key, nonce: random.fixedBytes())
                let envelope = try client.toServer(payload, type: .pushNotificationRegistration, topic: .personal(serverKey.publicKey))
                let finding = try #require(judge(envelope)?.findings.first)
                #expect(finding.layer == .encryption)
                names.insert(finding.sentence)
            }
        }
        #expect(names.count == 1 && names.first?.hasPrefix("the key is the SHA-256 of the shared point") == true)
    }

    @Test func `a query about an uncompressed key, and one on the asker's own topic, are named`() throws {
        func query(_ hash: [UInt8], about owner: Digest64) throws -> [ClientFinding] {
            var judge = ClientJudge(server: serverKey)
            _ = judge.judge(try registration(), now: Self.now)
            var query = PushNotificationQuery()
            query.publicKeys = [hash]
            let data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: client.key)
            let name = TopicName.query(owner, .plain)
            var random = SecureRandom()
            let sealed = try RFC26.sealSymmetric(data, key: name.deriveSymmetricKey(), signer: client.key, using: &random)
            let message = judge.judge(client.wrap(sealed, topic: name.topic), now: Self.now)
            return try #require(message).findings
        }
        let hash = client.key.publicKey.hash
        let mistaken = Keccak.shake256(client.key.publicKey.uncompressed.bytes)
        #expect(try query(hash.bytes, about: hash) == [])
        let topic = try query(mistaken.bytes, about: mistaken)
        #expect(topic.map(\.layer) == [.topic, .field])
        #expect(topic.first?.sentence.contains("uncompressed form") == true && topic.last?.sentence.contains("uncompressed key") == true)
        let other = Keccak.shake256([1])
        #expect(try query(other.bytes, about: hash).first?.sentence.contains("the asker's own key") == true)
    }

    // MARK: Fields

    private struct Mistake: CustomTestStringConvertible, Sendable {
        let field: String
        let change: @Sendable (inout PushNotificationRegistration) -> Void

        init(_ field: String, _ change: @escaping @Sendable (inout PushNotificationRegistration) -> Void) {
            (self.field, self.change) = (field, change)
        }

        var testDescription: String { field }
    }

    private static let mistakes: [Mistake] = [
        Mistake("version") { $0.version = 0 }, Mistake("installation_id") { $0.installationID = "" },
        Mistake("access_token") { $0.accessToken = "" }, Mistake("device_token") { $0.deviceToken = "" },
        Mistake("device_token") { $0.deviceToken = "abc" }, Mistake("token_type") { $0.tokenType = .unknown },
        Mistake("apn_topic") { $0.apnTopic = "" }, Mistake("grant") { $0.grant = [] },
        Mistake("blocked_chat_list[0]") { $0.blockedChatList = [[1]] }, Mistake("allowed_key_list[0]") { $0.allowedKeyList = [[1]] },
    ]

    @Test(arguments: mistakes) private func `a wrong field is named`(_ mistake: Mistake) throws {
        let findings = judge(try registration(mistake.change))?.findings
        #expect(findings?.contains { $0.field == mistake.field } == true)
        #expect(findings?.allSatisfy { $0.source.hasPrefix("71 \"") || $0.source.hasPrefix("beyond 71") } == true)
    }

    @Test func `the signed input of a wrong grant is named`() throws {
        let token = Array(client.registration().accessToken.text.utf8)
        let (key, server) = (client.key.publicKey, serverKey.publicKey)
        func sentence(_ input: [UInt8], v: UInt8 = 0) throws -> String? {
            var grant = client.key.sign(Keccak.keccak256(input)).bytes.bytes
            grant[64] += v
            return judge(try registration { $0.grant = grant })?.findings.first { $0.field == "grant" }?.sentence
        }
        let right = key.compressed.bytes + server.compressed.bytes + token
        #expect(try sentence(right) == nil)
        #expect(
            try sentence(key.compressed.bytes + server.uncompressed.bytes + token)?.hasPrefix("is over the server's uncompressed key")
                == true)
        #expect(
            try sentence(server.compressed.bytes + key.compressed.bytes + token)?.hasPrefix("is over the keys in the other order") == true)
        #expect(try sentence(right, v: 27)?.contains("it would be right") == true)
        #expect(try sentence([1, 2, 3])?.hasPrefix("is not a signature of the client") == true)
    }

    @Test func `no finding has a token`() throws {
        let token = client.registration().accessToken.text
        let findings = judge(try registration { $0.grant[3] ^= 1 })?.findings ?? []
        #expect(!findings.isEmpty && !findings.contains { "\($0)".contains(token) })
    }
}
