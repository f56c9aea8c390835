import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import TestSupport
import Wire

/// An attack of untrusted clients on a server (docs/LIMITS.md). Their keys are free.
struct Attack {
    let name: String
    /// The envelopes in their order. The first ones prepare the others.
    let envelopes: [WakuEnvelope]
    /// Device tokens that Apple never issued.
    var invalidTokens: [String] = []
}

/// The attackers.
struct Strangers {
    private let clients: [ProtocolClient]
    private let seconds: Double

    /// Creates the attackers.
    ///
    /// - Parameters:
    ///   - honest: The honest messages, whose reply topics differ from the attackers'.
    ///   - seconds: The duration of an attack.
    init(apartFrom honest: Workload, seconds: Double) {
        let topics = honest.numbersByReplyTopic
        self.seconds = seconds
        var clients: [ProtocolClient] = []
        var number = 0
        while clients.count <= max(Self.deviceCount, Int(200 * seconds)) {
            let client = ProtocolClient(key: BenchmarkOwners.key("stranger", number), server: BenchmarkOwners.server.publicKey)
            number += 1
            if topics[TopicName.partitioned(client.key.publicKey).topic.contentTopic] == nil { clients.append(client) }
        }
        self.clients = clients
    }

    /// The number of devices that the attackers register and push to.
    private static let deviceCount = 200

    /// Returns all attacks.
    ///
    /// - Parameter owner: A registered owner whom the attackers know.
    func attacks(on owner: Owner) throws -> [Attack] {
        func count(_ rate: Int) -> Int { Int(Double(rate) * seconds) }
        return try [
            longLists(count: count(5)), busyKeys(1, count: count(2)), busyKeys(20, count: count(2)), largeAnswers(count: count(50)),
            repeatedQuestion(count: count(200), about: owner),
            throwAwayKeys(count: count(100)), tombstones(count: count(100)), junk(count: count(1_000)),
            queryTopicJunk(count: count(2_000)), bombing(count: count(200), of: owner), invalidTokens(count: count(100)),
            inventedBundleIDs(count: count(20)),
        ]
    }

    /// Returns pushes to one owner.
    func bombing(of owner: Owner) throws -> Attack { try bombing(count: Int(200 * seconds), of: owner) }

    private func installationID(_ number: Int) -> String { BenchmarkOwners.universallyUniqueID("stranger", number) }

    /// Returns a list of the maximum length that fits into a message of the network.
    private func longList(entryByteCount: Int) -> [[UInt8]] {
        (0..<2_000).map { Array(BenchmarkOwners.digest("entry", $0).bytes.prefix(entryByteCount)) }
    }

    /// Returns registrations with three lists of 2,000 entries, and requests that name one device a thousand times.
    private func longLists(count: Int) throws -> Attack {
        let list = longList(entryByteCount: 20)
        let envelopes = try (0..<count).flatMap { number in
            let stranger = clients[number]
            var registration = stranger.registration()
            (registration.blockedChatList, registration.mutedChatList, registration.allowedMentionsChatList) = (list, list, list)
            let notifications = Array(repeating: stranger.notification(to: stranger), count: 1_000)
            return try [
                stranger.envelope(registration),
                stranger.envelope(stranger.request(notifications, messageID: BenchmarkOwners.digest("names", number).bytes)),
            ]
        }
        return Attack(name: "long lists", envelopes: envelopes)
    }

    /// Returns registrations of keys that each register at the maximum rate, each time with lists of 256 KiB.
    private func busyKeys(_ keyCount: Int, count: Int) throws -> Attack {
        let list = (0..<3_970).map { BenchmarkOwners.digest("entry", $0).bytes + BenchmarkOwners.digest("entry", -$0).bytes }
        let envelopes = try (1...count).flatMap { version in
            try clients.prefix(keyCount).map { client in
                var registration = client.registration(version: UInt64(version))
                registration.blockedChatList = list
                return try client.envelope(registration)
            }
        }
        return Attack(name: "\(keyCount) keys that register 256 KiB twice a second", envelopes: envelopes)
    }

    /// Returns lookups of 300 bytes that each request 64 KB.
    private func largeAnswers(count: Int) throws -> Attack {
        let rich = clients[0]
        var registration = rich.registration()
        registration.allowedKeyList = longList(entryByteCount: 32)
        return Attack(
            name: "large query responses",
            envelopes: try [rich.envelope(registration)] + (1...count).map { try question(by: clients[$0], rich.keyHash) })
    }

    private func question(by stranger: ProtocolClient, _ keyHash: Digest64) throws -> WakuEnvelope {
        var query = PushNotificationQuery()
        query.publicKeys = [keyHash.bytes]
        return try stranger.toServer(query.encoded(), type: .pushNotificationQuery, topic: .partitioned(BenchmarkOwners.server.publicKey))
    }

    /// Returns copies of a recorded ciphertext, each with another timestamp and therefore another message hash.
    private func repeatedQuestion(count: Int, about owner: Owner) throws -> Attack {
        let recorded = try question(by: clients[0], owner.keyHash)
        let envelopes = (0..<count).map { number in
            var envelope = recorded
            envelope.message.timestamp = recorded.message.timestamp.map { $0 + Int64(number) }
            return envelope
        }
        return Attack(name: "a repeated query", envelopes: envelopes)
    }

    private func throwAwayKeys(count: Int) throws -> Attack {
        Attack(
            name: "throw-away keys",
            envelopes: try (0..<count).map { number in
                let stranger = clients[number]
                return try stranger.envelope(stranger.registration(deviceToken: BenchmarkOwners.digest("thrown away", number).description))
            })
    }

    /// Returns a key's unregistrations of installations that never existed.
    private func tombstones(count: Int) throws -> Attack {
        let stranger = clients[0]
        return Attack(
            name: "unknown installations unregistered",
            envelopes: try (0..<count).map { number in
                var registration = stranger.registration(installationID: installationID(number))
                registration.unregister = true
                return try stranger.envelope(registration)
            })
    }

    /// Returns messages of 60 bytes on the server's own topic that the server cannot open.
    private func junk(count: Int) -> Attack {
        let stranger = clients[0]
        let topic = TopicName.partitioned(BenchmarkOwners.server.publicKey).topic
        return Attack(
            name: "junk",
            envelopes: (0..<count).map { number in
                stranger.wrap(
                    Array((BenchmarkOwners.digest("junk", number).bytes + BenchmarkOwners.digest("junk", -number).bytes).prefix(60)),
                    topic: topic)
            })
    }

    /// Returns messages that the server cannot open, on the query topics of 2,000 owners. Each topic gets so few that its demotion takes
    /// long.
    private func queryTopicJunk(count: Int) -> Attack {
        let topicCount = 2_000
        return Attack(
            name: "junk on \(topicCount) query topics",
            envelopes: (0..<count).map { number in
                let bytes = BenchmarkOwners.digest("query junk", number).bytes + BenchmarkOwners.digest("query junk", -number).bytes
                return clients[0].wrap(Array(bytes.prefix(60)), topic: Owner(number: number % topicCount).topic)
            })
    }

    /// Returns requests for one device, each with a fresh key.
    private func bombing(count: Int, of owner: Owner) throws -> Attack {
        Attack(
            name: "pushes of all senders to one device",
            envelopes: try (0..<count).map { number in
                let stranger = clients[number]
                var notification = PushNotification()
                notification.accessToken = owner.accessToken
                notification.publicKey = owner.keyHash.bytes
                notification.installationID = owner.installationID
                notification.type = .message
                return try stranger.envelope(stranger.request([notification], messageID: BenchmarkOwners.digest("ring", number).bytes))
            })
    }

    private func invalidTokens(count: Int) throws -> Attack {
        let tokens = (0..<20).map { BenchmarkOwners.digest("invalid token", $0).description }
        var attack = try pushes(count: count, to: tokens.map { ($0, "im.status.ethereum") }, name: "invented tokens")
        attack.invalidTokens = tokens
        return attack
    }

    private func inventedBundleIDs(count: Int) throws -> Attack {
        try pushes(
            count: count, to: (0..<Self.deviceCount).map { (BenchmarkOwners.digest("stolen token", $0).description, "invented.\($0)") },
            name: "invented bundle ids"
        )
    }

    /// Returns registrations of the attackers' devices, and pushes to one device after another.
    private func pushes(count: Int, to devices: [(token: String, topic: String)], name: String) throws -> Attack {
        let registrations = try devices.enumerated().map { number, device in
            let stranger = clients[number]
            var registration = stranger.registration(deviceToken: device.token)
            registration.apnTopic = device.topic
            return try stranger.envelope(registration)
        }
        let requests = try (0..<count).map { number in
            let stranger = clients[number % devices.count]
            return try stranger.envelope(
                stranger.request([stranger.notification(to: stranger)], messageID: BenchmarkOwners.digest("own push", number).bytes))
        }
        return Attack(name: name, envelopes: registrations + requests)
    }
}
