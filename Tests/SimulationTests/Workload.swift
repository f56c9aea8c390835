import Bytes
import Envelope
import PushProtocol
import StatusCrypto
import Store
import Wire

@testable import Engine

/// The plaintext of a message. On the wire its number stands for the ciphertext: cryptography has its own tests, and costs milliseconds.
struct TestMessage: Sendable {
    var body: OpenedEnvelope.Body
    var origin: OpenedEnvelope.Origin
    /// Whether an honest client waits for a reply.
    var isHonest: Bool
}

/// The random messages of owners, senders and attackers.
struct Workload {
    private(set) var testMessages: [TestMessage] = []
    private var versions: [Installation: UInt64] = [:]

    static let serverTopic = Topic(rawValue: 0xFFFF_0001)
    static let chats: [[UInt8]] = [[1], [2]]
    static let mutedChat = chats[1]

    static func accessToken(of installation: Installation) -> AccessToken {
        AccessToken(
            UniversallyUniqueID.text(
                FixedBytes(installation.keyHash.bytes.prefix(15) + installation.installationID.utf8.suffix(1)) ?? FixedBytes(), version: 4))
    }
    static func deviceToken(of installation: Installation, version: UInt64) -> DeviceToken {
        // Each installation has its own token. Every fourth version changes it.
        "\(installation.keyHash.description.prefix(60))\(installation.installationID.suffix(1))\(version / 4 % 10)00"
    }

    private mutating func add(_ body: OpenedEnvelope.Body, from sender: Party, isHonest: Bool = true) -> Int {
        var id = Digest32()
        for index in 0..<8 { id[index] = UInt8(truncatingIfNeeded: testMessages.count >> (8 * index)) }
        testMessages.append(
            TestMessage(
                body: body,
                origin: .init(
                    sender: sender.key, messageID: SHA256.hash(id.span), pubsubTopic: Network.pubsubTopic,
                    receivedAt: Timestamp(nanoseconds: 0)),
                isHonest: isHonest))
        return testMessages.count - 1
    }

    /// Returns a registration of an installation or, now and then, its unregistration, with the next version.
    mutating func register(_ owner: Party, _ number: Int, leaves: Bool, muting: Bool) -> Int {
        let installation = owner.installation(number)
        let version = versions[installation, default: 0] + 1
        versions[installation] = version
        return add(.registration(Self.registration(owner, number, version: version, leaves: leaves, muting: muting)), from: owner)
    }

    /// Returns an attacker's registration, made from messages that it has seen: an old version, or one without the owner's grant.
    mutating func forgeRegistration(_ owner: Party, _ number: Int, replays: Bool) -> Int? {
        let last = versions[owner.installation(number), default: 0]
        guard replays else {
            var forged = Self.registration(owner, number, version: last + 100, leaves: false, muting: false)
            forged.facts.grantIsValid = false
            return add(.registration(forged), from: owner, isHonest: false)
        }
        guard last > 1 else { return nil }
        return add(
            .registration(Self.registration(owner, number, version: last - 1, leaves: false, muting: false)), from: owner, isHonest: false)
    }

    private static func registration(
        _ owner: Party, _ number: Int, version: UInt64, leaves: Bool, muting: Bool
    ) -> OpenedEnvelope.Registration {
        registration(owner, owner.installation(number), isApple: number == 0, version: version, leaves: leaves, muting: muting)
    }

    private static func registration(
        _ owner: Party, _ installation: Installation, isApple: Bool, version: UInt64, leaves: Bool, muting: Bool
    ) -> OpenedEnvelope.Registration {
        var content = PushNotificationRegistration()
        content.installationID = installation.installationID
        content.version = version
        if leaves {
            content.unregister = true
        } else {
            content.tokenType = isApple ? .apn : .firebase
            content.deviceToken = deviceToken(of: installation, version: version)
            content.accessToken = accessToken(of: installation)
            content.enabled = true
            content.apnTopic = isApple ? "org.example.messenger" : ""
            content.grant = [UInt8](repeating: 1, count: 65)
            if muting { content.mutedChatList = [mutedChat] }
        }
        let digest = SHA256.hash(content.encoded())
        return OpenedEnvelope.Registration(
            facts: RegistrationInput(content: .message(content), grantIsValid: true, plaintextDigest: digest),
            requestID: Keccak.shake256(digest.bytes), keyHash: owner.keyHash, topics: owner.topics)
    }

    mutating func ask(about owner: Party) -> Int { add(.query([owner.keyHash]), from: .sender) }

    /// Returns one more registration of the hoarder, or the tombstone of one more.
    mutating func hoard(isGhost: Bool) -> Int {
        let number = testMessages.count
        let installation = isGhost ? Party.hoarder.ghost(number) : Party.hoarder.installation(number)
        return add(
            .registration(Self.registration(.hoarder, installation, isApple: false, version: 1, leaves: isGhost, muting: false)),
            from: .hoarder, isHonest: false)
    }

    /// Returns a copy of a message. The network drops identical envelopes, so the copy has another envelope.
    mutating func again(_ number: Int) -> Int {
        testMessages.append(testMessages[number])
        return testMessages.count - 1
    }

    /// Returns a push for both installations of an owner.
    ///
    /// - Parameter guesses: Whether the access token is one that no owner issued.
    mutating func push(to owner: Party, chat: [UInt8], guesses: Bool = false) -> Int {
        var request = PushNotificationRequest()
        request.messageID = [UInt8(truncatingIfNeeded: testMessages.count), UInt8(truncatingIfNeeded: testMessages.count >> 8)]
        request.requests = (0...1).map { number in
            let installation = owner.installation(number)
            var notification = PushNotification()
            notification.publicKey = owner.keyHash.bytes
            notification.installationID = installation.installationID
            notification.accessToken =
                guesses ? AccessToken(UniversallyUniqueID.text(FixedBytes(), version: 4)) : Self.accessToken(of: installation)
            notification.type = .message
            notification.chatID = chat
            notification.message = [1, 2, 3]
            return notification
        }
        return add(.push(request), from: guesses ? .attacker : .sender, isHonest: !guesses)
    }

    /// Returns the topic on which a message is published.
    func topic(of number: Int) -> Topic {
        guard case .query(let keys) = testMessages[number].body, let owner = Party.owners.first(where: { $0.keyHash == keys.first }) else {
            return Self.serverTopic
        }
        return Topic(rawValue: owner.topics.plain)
    }
}
