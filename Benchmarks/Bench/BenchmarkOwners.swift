import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Wire

/// The participants of benchmarks. Their keys and contents are derived from numbers, so that each run has equal ones.
enum BenchmarkOwners {
    static let pubsubTopic = "/waku/2/rs/16/32"
    static let server = key("server", 0)

    static func key(_ role: String, _ number: Int) -> PrivateKey {
        guard let key = try? PrivateKey(digest(role, number)) else { preconditionFailure("one hash in 2^128 is no key") }
        return key
    }

    static func digest(_ role: String, _ number: Int) -> Digest32 {
        SHA256.hash(Array("pushbench \(role) \(number)".utf8))
    }

    static func universallyUniqueID(_ role: String, _ number: Int) -> String {
        UniversallyUniqueID.text(FixedBytes(digest(role, number).bytes.prefix(16)) ?? FixedBytes(), version: 8)
    }
}

/// A registered device without lists. Its owner signs no message, so it has only the hash of a key, and no key pair.
struct Owner {
    let number: Int

    var keyHash: Digest64 { Keccak.shake256(Array("pushbench owner \(number)".utf8)) }
    var installationID: String { BenchmarkOwners.universallyUniqueID("installation", number) }
    var accessToken: AccessToken { AccessToken(BenchmarkOwners.universallyUniqueID("access token", number)) }
    /// The token as 64 hex digits, like APNs' tokens.
    var deviceToken: DeviceToken { DeviceToken(BenchmarkOwners.digest("device token", number).description) }
    /// The key of the query topic, stored instead of a derived one, which saves 18 ms of preparation an owner.
    var topicKey: FixedBytes<32> { BenchmarkOwners.digest("topic key", number) }
    var topic: Topic { TopicName.query(keyHash, .plain).topic }

    var registration: Registration {
        var content = PushNotificationRegistration()
        content.tokenType = .apn
        content.deviceToken = deviceToken
        content.apnTopic = "im.status.ethereum"
        content.installationID = installationID
        content.accessToken = accessToken
        content.enabled = true
        content.version = 1
        content.grant = BenchmarkOwners.digest("grant", number).bytes + BenchmarkOwners.digest("grant", -number).bytes + [0]
        return Registration(keyHash: keyHash, content: content, plaintextDigest: BenchmarkOwners.digest("plaintext", number))
    }
}

/// Envelopes with their senders, made before any clock runs.
struct Workload: Sendable {
    /// The kinds of messages, which alternate.
    let kinds: [MessageKind]
    /// The senders, one for each message. The senders of registrations all differ.
    let senders: [PrivateKey]
    let envelopes: [WakuEnvelope]

    /// The number of owners that `MessageKind.query` queries.
    private static let popularOwnerCount = 500

    /// Creates a workload of prepared messages, one from each sender.
    init(_ kind: MessageKind, from senders: [PrivateKey], _ envelopes: [WakuEnvelope]) {
        kinds = [kind]
        self.senders = senders
        self.envelopes = envelopes
    }

    /// - Parameter owners: The number of queried owners or push targets, among which the messages alternate.
    init(_ kinds: MessageKind..., count: Int, owners: Int, threadCount: Int) {
        self.kinds = kinds
        let made = Timing.map(0..<count, threadCount: threadCount) { number in
            let kind = kinds[number % kinds.count]
            let owners = kind == .query ? min(owners, Self.popularOwnerCount) : owners
            let sender = BenchmarkOwners.key(kind.rawValue, number)
            return (sender, Self.envelope(kind, number: number, owner: Owner(number: number % owners), sender: sender))
        }
        senders = made.map(\.0)
        envelopes = made.map(\.1)
    }

    func kind(of number: Int) -> MessageKind { kinds[number % kinds.count] }

    /// The senders' numbers by the content topic of their replies.
    var numbersByReplyTopic: [String: [Int]] {
        Dictionary(grouping: senders.indices) { TopicName.partitioned(senders[$0].publicKey).topic.contentTopic }
    }

    /// Returns whether the envelope is the server's reply to that message, and grants the request.
    func isSuccess(_ envelope: WakuEnvelope, to number: Int) -> Bool { kind(of: number).isSuccess(envelope, to: senders[number]) }

    private static func envelope(_ kind: MessageKind, number: Int, owner: Owner, sender: PrivateKey) -> WakuEnvelope {
        var random = SplitMix64(seed: UInt64(number))
        let server = BenchmarkOwners.server.publicKey
        let data: [UInt8]
        var topic = TopicName.partitioned(server).topic
        switch kind {
        case .registration:
            var content = owner.registration.content
            content.grant =
                sender.sign(Grant.digest(client: sender.publicKey, server: server, accessToken: content.accessToken)).bytes.bytes
            let payload = AESGCM.sealCombined(
                content.encoded().span, key: sender.sharedSecret(with: server), nonce: random.fixedBytes())
            data = ApplicationMetadata.seal(payload, type: .pushNotificationRegistration, signer: sender)
            topic = TopicName.personal(server).topic
        case .query, .storedQuery, .directQuery:
            var query = PushNotificationQuery()
            query.publicKeys = [owner.keyHash.bytes]
            data = ApplicationMetadata.seal(query.encoded(), type: .pushNotificationQuery, signer: sender)
            if kind.isOnQueryTopic { topic = owner.topic }
        case .push:
            var notification = PushNotification()
            notification.accessToken = owner.accessToken
            notification.publicKey = owner.keyHash.bytes
            notification.installationID = owner.installationID
            notification.type = .message
            notification.chatID = Keccak.shake256(Array("chat".utf8)).bytes
            notification.author = Keccak.shake256(Array("author".utf8)).bytes
            notification.message = random.bytes(100)
            var request = PushNotificationRequest()
            request.requests = [notification]
            request.messageID = BenchmarkOwners.digest("message", number).bytes
            data = ApplicationMetadata.seal(request.encoded(), type: .pushNotificationRequest, signer: sender)
        }
        var message = WakuMessage()
        // The sealing fails for 16 MiB and more.
        message.payload =
            (kind.isOnQueryTopic
                ? try? RFC26.sealSymmetric(data, key: SymmetricKey(owner.topicKey), signer: sender, using: &random)
                : try? RFC26.sealAsymmetric(data, to: server, signer: sender, using: &random)) ?? []
        message.contentTopic = topic.contentTopic
        message.version = RFC26.messageVersion
        message.timestamp = timestamp(number)
        return WakuEnvelope(pubsubTopic: BenchmarkOwners.pubsubTopic, message: message)
    }

    /// Returns the timestamp of a message: 10,000 are sent each second, and the network reorders them by up to 0.2 s.
    private static func timestamp(_ number: Int) -> Int64 {
        1_700_000_000_000_000_000 + Int64(number + number * 7_919 % 2_000) * 100_000
    }
}

extension MessageKind {
    var isOnQueryTopic: Bool { self == .query || self == .storedQuery }
}
