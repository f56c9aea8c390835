import Bytes
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The table of PROTOCOL.md §7, row by row, and its order.
@Suite(.safetyNet) struct RegistrationRulesTests {
    private let requestID = Digest64(repeating: 0x1F)

    private func decide(
        _ message: PushNotificationRegistration, grantIsValid: Bool = true, digest: Digest32 = Digest32(repeating: 1),
        stored: StoredVersion? = nil, key: RegisteringKey = RegisteringKey(),
        policy: RegistrationPolicy = RegistrationPolicy(acceptRetransmission: false)
    ) -> RegistrationDecision {
        let facts = RegistrationInput(content: .message(message), grantIsValid: grantIsValid, plaintextDigest: digest)
        return RegistrationRules.decide(facts, stored: stored, key: key, policy: policy)
    }

    private func stored(_ version: UInt64, digest: Digest32 = Digest32(repeating: 1), isRegistered: Bool = true) -> StoredVersion {
        StoredVersion(version: version, plaintextDigest: digest, isRegistered: isRegistered)
    }

    @Test func `a registration that passes every check registers`() {
        #expect(decide(Fixture.registration()) == .register)
    }

    @Test(arguments: [
        (RegistrationInput.Content.undecryptable, RegistrationDecision.discard), (.malformed, .refuse(.malformedMessage)),
    ])
    func `rows 1 and 2: undecryptable messages are discarded, and other bytes than protobuf are malformed`(
        content: RegistrationInput.Content, expected: RegistrationDecision
    ) {
        let facts = RegistrationInput(content: content, grantIsValid: true, plaintextDigest: Digest32())
        #expect(RegistrationRules.decide(facts, stored: nil, key: RegisteringKey(), policy: RegistrationPolicy()) == expected)
        #expect(facts.installation(keyHash: Fixture.keyHash) == nil)
    }

    @Test(arguments: [0, 1, .max] as [UInt64])
    func `row 3: version 0 is malformed, for unregistering too`(version: UInt64) {
        let message = Fixture.registration { $0.version = version }
        #expect(decide(message) == (version == 0 ? .refuse(.malformedMessage) : .register))
        let unregistration = Fixture.registration {
            $0.version = version
            $0.unregister = true
        }
        #expect(decide(unregistration) == (version == 0 ? .refuse(.malformedMessage) : .unregister))
    }

    @Test(arguments: [
        ("", false), ("not a UUID", true), (String(repeating: "x", count: 128), true), (String(repeating: "x", count: 129), false),
        (String(repeating: "é", count: 64), true), (String(repeating: "é", count: 65), false),
    ])
    func `row 4: an installation id is 1 to 128 bytes and need not be a UUID`(installationID: String, isUsable: Bool) {
        let message = Fixture.registration { $0.installationID = installationID }
        #expect(decide(message) == (isUsable ? .register : .refuse(.malformedMessage)))
        let facts = RegistrationInput(content: .message(message), grantIsValid: true, plaintextDigest: Digest32())
        #expect(facts.installation(keyHash: Fixture.keyHash)?.installationID == (isUsable ? installationID : nil))
    }

    private static let signBit: UInt64 = 1 << 63

    @Test(
        arguments: [
            (4, 5, true), (5, 5, false), (6, 5, false), (signBit - 1, signBit, true), (signBit, signBit - 1, false),
            (signBit, signBit + 1, true), (.max - 1, .max, true), (.max, .max, false), (.max, 1, false), (1, .max, true),
        ] as [(UInt64, UInt64, Bool)])
    func `row 5: a version must be above the stored one, over the whole range of 64 bits`(
        storedVersion: UInt64, version: UInt64, isNewer: Bool
    ) {
        for isRegistered in [true, false] {
            let stored = stored(storedVersion, isRegistered: isRegistered)
            let message = Fixture.registration { $0.version = version }
            #expect(decide(message, stored: stored) == (isNewer ? .register : .refuse(.versionMismatch)))
            let unregistration = Fixture.registration {
                $0.version = version
                $0.unregister = true
            }
            #expect(decide(unregistration, stored: stored) == (isNewer ? .unregister : .refuse(.versionMismatch)))
        }
    }

    @Test(
        arguments: [
            (5, Digest32(repeating: 1), .unchanged), (5, Digest32(repeating: 2), .refuse(.versionMismatch)),
            (4, Digest32(repeating: 1), .refuse(.versionMismatch)),
        ] as [(UInt64, Digest32, RegistrationDecision)])
    func `row 5: a retransmission is accepted unless a setting forbids it, only with the same version and plaintext`(
        version: UInt64, digest: Digest32, expected: RegistrationDecision
    ) {
        let message = Fixture.registration { $0.version = version }
        #expect(decide(message, digest: digest, stored: stored(5), policy: RegistrationPolicy()) == expected)
        #expect(decide(message, digest: digest, stored: stored(5)) == .refuse(.versionMismatch))
    }

    @Test func `row 5: a retransmission is refused if the registration was removed for a dead device token`() {
        #expect(
            decide(Fixture.registration { $0.version = 5 }, stored: stored(5, isRegistered: false), policy: RegistrationPolicy())
                == .refuse(.versionMismatch))
    }

    @Test func `row 5: a retransmitted unregistration is accepted and changes nothing`() {
        let message = Fixture.registration { $0.unregister = true }
        #expect(decide(message, stored: stored(5, isRegistered: false), policy: RegistrationPolicy()) == .unchanged)
    }

    @Test func `row 6: an unregistration needs only a version and an installation, registered or not`() {
        var message = PushNotificationRegistration()
        message.version = 1
        message.installationID = Fixture.installationID
        message.unregister = true
        #expect(decide(message, grantIsValid: false) == .unregister)
        #expect(decide(message, grantIsValid: false, key: RegisteringKey(rowCount: 1_000)) == .unregister)
    }

    @Test(arguments: [
        "b6ae4fde-bb65-11ea-b3de-0242ac130004", "B6AE4FDE-BB65-11EA-B3DE-0242AC130004", "b6ae4fdebb6511eab3de0242ac130004",
        "B6ae4fdebb6511eab3de0242ac13000F", "urn:uuid:b6ae4fde-bb65-11ea-b3de-0242ac130004",
        "URN:UUID:B6AE4FDE-BB65-11EA-B3DE-0242AC130004",
        "{b6ae4fde-bb65-11ea-b3de-0242ac130004}", "00000000-0000-0000-0000-000000000000",
    ])
    func `row 7: an access token is a UUID in any of four forms`(accessToken: String) {
        #expect(decide(Fixture.registration { $0.accessToken = AccessToken(accessToken) }) == .register)
    }

    @Test(arguments: [
        "", "token", "b6ae4fde-bb65-11ea-b3de-0242ac13000", "b6ae4fde-bb65-11ea-b3de-0242ac1300045", "b6ae4fde-bb65-11ea-b3de-0242ac13000g",
        "b6ae4fdebb65-11ea-b3de-0242-ac130004", "b6ae4fde+bb65+11ea+b3de+0242ac130004", "b6ae4fdebb6511eab3de0242ac13000g",
        "b6ae4fdebb6511eab3de0242ac13000", "{b6ae4fdebb6511eab3de0242ac130004}", "(b6ae4fde-bb65-11ea-b3de-0242ac130004)",
        "{b6ae4fde-bb65-11ea-b3de-0242ac130004 ", "urn:uuix:b6ae4fde-bb65-11ea-b3de-0242ac130004",
        "urn:uuid:b6ae4fdebb6511eab3de0242ac130004",
        " b6ae4fde-bb65-11ea-b3de-0242ac130004", "ｂ6ae4fde-bb65-11ea-b3de-0242ac1300",
    ])
    func `row 7: anything else is malformed`(accessToken: String) {
        #expect(decide(Fixture.registration { $0.accessToken = AccessToken(accessToken) }) == .refuse(.malformedMessage))
    }

    @Test(
        arguments: [
            (65, 0, true), (65, 1, true), (65, 2, false), (65, 27, false), (65, 255, false), (64, 1, false), (66, 1, false), (1, 1, false),
        ] as [(Int, UInt8, Bool)])
    func `row 8: a grant is 65 bytes with V 0 or 1`(byteCount: Int, recoveryByte: UInt8, isWellFormed: Bool) {
        let grant = Array(repeating: UInt8(0x22), count: byteCount - 1) + [recoveryByte]
        #expect(decide(Fixture.registration { $0.grant = grant }) == (isWellFormed ? .register : .refuse(.malformedMessage)))
    }

    @Test func `row 8: an empty grant, and one that is not by this client for this server and token, are malformed`() {
        #expect(decide(Fixture.registration { $0.grant = [] }) == .refuse(.malformedMessage))
        #expect(decide(Fixture.registration(), grantIsValid: false) == .refuse(.malformedMessage))
    }

    @Test(arguments: [
        ("", false), (String(repeating: "a", count: 63), false), (String(repeating: "aF", count: 32), true),
        (String(repeating: "0", count: 200), true), (String(repeating: "0", count: 201), false),
        (String(repeating: "0", count: 63) + "g", false), (String(repeating: "0", count: 62) + "/..", false),
    ])
    func `row 9: an APNs token is 64 to 200 hex digits`(token: String, isUsable: Bool) {
        #expect(decide(Fixture.registration { $0.deviceToken = DeviceToken(token) }) == (isUsable ? .register : .refuse(.malformedMessage)))
    }

    @Test(arguments: [
        ("", false), ("f", true), ("fcm<token>&\"quoted\"\u{2028}é🙂", true), (String(repeating: "x", count: 4_096), true),
        (String(repeating: "x", count: 4_097), false),
    ])
    func `row 9: a Firebase token is 1 to 4,096 bytes`(token: String, isUsable: Bool) {
        let message = Fixture.registration {
            $0.tokenType = .firebase
            $0.deviceToken = DeviceToken(token)
        }
        #expect(decide(message) == (isUsable ? .register : .refuse(.malformedMessage)))
    }

    @Test(arguments: [(0, false), (1, true), (2, true), (3, false), (-1, false), (.max, false)] as [(Int32, Bool)])
    func `row 10: only APNs and Firebase are supported`(tokenType: Int32, isSupported: Bool) {
        let message = Fixture.registration { $0.tokenType = TokenType(rawValue: tokenType) }
        #expect(decide(message) == (isSupported ? .register : .refuse(.unsupportedTokenType)))
    }

    @Test(arguments: [
        (TokenType.apn, "", false), (.apn, String(repeating: "t", count: 255), true), (.apn, String(repeating: "t", count: 256), false),
        (.firebase, "", true),
    ])
    func `row 11: APNs needs a topic, Firebase does not`(tokenType: TokenType, topic: String, isUsable: Bool) {
        let message = Fixture.registration {
            $0.tokenType = tokenType
            $0.apnTopic = topic
        }
        #expect(decide(message) == (isUsable ? .register : .refuse(.malformedMessage)))
    }

    @Test func `row 11: only the named apps are served, if any is named`() {
        let policy = RegistrationPolicy(apnTopics: ["im.status.ethereum", "org.example"])
        #expect(decide(Fixture.registration(), policy: policy) == .register)
        #expect(decide(Fixture.registration { $0.apnTopic = "org.example.other" }, policy: policy) == .refuse(.malformedMessage))
        let firebase = Fixture.registration {
            $0.tokenType = .firebase
            $0.apnTopic = "org.example.other"
        }
        #expect(decide(firebase, policy: policy) == .register)
    }

    @Test(arguments: [0, 255, 256, 34_000])
    func `row 11: a bundle id of a Firebase device is never stored, whatever its length`(byteCount: Int) {
        let content = Fixture.registration {
            $0.tokenType = .firebase
            $0.apnTopic = String(repeating: "t", count: byteCount)
        }
        #expect(decide(content) == .register)
        let stored = Registration(keyHash: Fixture.keyHash, content: content, plaintextDigest: Digest32())
        #expect(stored.content.apnTopic.isEmpty)
    }

    @Test func `row 9a: a key has at most 256 rows, including tombstones`() {
        #expect(decide(Fixture.registration(), key: RegisteringKey(rowCount: 255)) == .register)
        #expect(decide(Fixture.registration(), key: RegisteringKey(rowCount: 256)) == .limit(.installations))
        #expect(decide(Fixture.registration(), stored: stored(4), key: RegisteringKey(rowCount: 256)) == .register)
    }

    @Test func `row 9b: a key that registers too often must wait, but may unregister at any time`() {
        var key = RegisteringKey(isKnown: true)
        key.mayRegister = false
        #expect(decide(Fixture.registration(), key: key) == .limit(.rate))
        #expect(decide(Fixture.registration { $0.unregister = true }, key: key) == .unregister)
        // A stored registration spends no credits.
        let same = Fixture.registration { $0.version = 5 }
        #expect(decide(same, stored: stored(5), key: key, policy: RegistrationPolicy()) == .unchanged)
    }

    @Test func `row 9c: a server that retires takes no new installations, and keeps those that are registered`() {
        let policy = RegistrationPolicy(acceptNew: false)
        let newer = Fixture.registration { $0.version = 5 }
        #expect(decide(newer, policy: policy) == .limit(.newInstallations))
        #expect(decide(newer, stored: stored(4, isRegistered: false), policy: policy) == .limit(.newInstallations))
        #expect(decide(newer, stored: stored(4), policy: policy) == .register)
        #expect(decide(newer, stored: stored(5), policy: policy) == .unchanged)
        let leaving = Fixture.registration {
            $0.version = 5
            $0.unregister = true
        }
        for stored in [nil, stored(4), stored(4, isRegistered: false)] {
            #expect(decide(leaving, stored: stored, policy: policy) == .unregister)
        }
        // A client that makes a mistake gets the reason.
        let malformed = Fixture.registration { $0.accessToken = "" }
        #expect(decide(malformed, policy: policy) == .refuse(.malformedMessage))
    }

    @Test(arguments: [(3, false), (4, true), (5, true)] as [(UInt64, Bool)])
    func `a response supersedes older ones unless its version is below the stored one`(version: UInt64, supersedes: Bool) {
        func facts(_ content: RegistrationInput.Content) -> RegistrationInput {
            RegistrationInput(content: content, grantIsValid: false, plaintextDigest: Digest32())
        }
        let registration = facts(.message(Fixture.registration { $0.version = version }))
        #expect(RegistrationRules.supersedes(registration, stored: stored(4)) == supersedes)
        #expect(RegistrationRules.supersedes(registration, stored: nil))
        // A message without a version supersedes no reply.
        for content in [.malformed, .message(Fixture.registration { $0.version = 0 })] as [RegistrationInput.Content] {
            #expect(!RegistrationRules.supersedes(facts(content), stored: nil))
        }
    }

    @Test(arguments: [false, true])
    func `row 9b: when the storage is full, only known keys store more`(isKnown: Bool) {
        var key = RegisteringKey(isKnown: isKnown)
        key.isStorageFull = true
        let leaving = Fixture.registration { $0.unregister = true }
        #expect(decide(Fixture.registration(), key: key) == (isKnown ? .register : .limit(.storage)))
        #expect(decide(leaving, key: key) == (isKnown ? .unregister : .limit(.storage)))
        #expect(decide(leaving, stored: stored(4), key: key) == .unregister)
    }

    @Test(arguments: [(14_000, 0, true), (16 << 10, 0, false), (1_000, 16_000, false), (16 << 10, 16 << 10, false)])
    func `row 9b: when the storage is full, a known key stores 16 KiB in all, and has no such limit once it is proven`(
        byteCount: Int, otherByteCount: Int, isAccepted: Bool
    ) {
        var key = RegisteringKey(listByteCount: otherByteCount, rowCount: 1, isKnown: true)
        let registration = Fixture.registration { $0.mutedChatList = [[UInt8](repeating: 1, count: byteCount)] }
        #expect(decide(registration, key: key) == .register)
        key.isStorageFull = true
        #expect(decide(registration, key: key) == (isAccepted ? .register : .limit(.storage)))
        #expect(decide(Fixture.registration { $0.unregister = true }, key: key) == .unregister)
        key.isProven = true
        #expect(decide(registration, key: key) == .register)
    }

    private static let lists: [@Sendable (inout PushNotificationRegistration, [[UInt8]]) -> Void] = [
        { $0.allowedKeyList = $1 }, { $0.blockedChatList = $1 }, { $0.allowedMentionsChatList = $1 }, { $0.mutedChatList = $1 },
    ]

    /// An entry of 64 bytes is one of the reference's lists.
    @Test(arguments: lists, [(64, 8_192), (1, 65_536)])
    func `row 9a: the lists of an installation have at most 512 KiB, and an entry counts eight bytes at least`(
        set: @Sendable (inout PushNotificationRegistration, [[UInt8]]) -> Void, entry: (byteCount: Int, maximumCount: Int)
    ) {
        func registration(_ count: Int) -> PushNotificationRegistration {
            Fixture.registration { set(&$0, Array(repeating: [UInt8](repeating: 1, count: entry.byteCount), count: count)) }
        }
        #expect(decide(registration(entry.maximumCount)) == .register)
        #expect(decide(registration(entry.maximumCount + 1)) == .limit(.lists))
        // What other installations of the key have makes room.
        #expect(decide(registration(1), key: RegisteringKey(listByteCount: 1 << 30)) == .register)
    }

    @Test func `row 9a: 4,000 contacts and as many muted chats register`() {
        let entries = Array(repeating: [UInt8](repeating: 1, count: 64), count: 4_000)
        #expect(decide(Fixture.registration { ($0.allowedKeyList, $0.mutedChatList) = (entries, entries) }) == .register)
    }

    /// Breaks each row from the last to the first. At each step the row broken last, the earliest, must decide.
    @Test func `the first check that fails decides`() {
        let conflict = stored(9)
        var message = Fixture.registration { $0.apnTopic = "" }
        #expect(decide(message) == .refuse(.malformedMessage))
        message.tokenType = TokenType(rawValue: 7)
        #expect(decide(message) == .refuse(.unsupportedTokenType))
        var busy = RegisteringKey()
        busy.mayRegister = false
        #expect(decide(message, key: busy) == .limit(.rate))
        message.blockedChatList = Array(repeating: [], count: 65_537)
        #expect(decide(message, key: busy) == .limit(.lists))
        message.deviceToken = ""
        #expect(decide(message) == .refuse(.malformedMessage))
        #expect(decide(message, stored: conflict) == .refuse(.versionMismatch))
        message.accessToken = "none"
        message.unregister = true
        #expect(decide(message, grantIsValid: false) == .unregister)
        #expect(decide(message, grantIsValid: false, stored: conflict) == .refuse(.versionMismatch))
        message.version = 0
        #expect(decide(message, grantIsValid: false, stored: conflict) == .refuse(.malformedMessage))
    }

    @Test(arguments: [
        (RegistrationDecision.register, true, RegistrationError.unknown), (.unregister, true, .unknown), (.unchanged, true, .unknown),
        (.refuse(.malformedMessage), false, .malformedMessage), (.refuse(.versionMismatch), false, .versionMismatch),
        (.refuse(.unsupportedTokenType), false, .unsupportedTokenType), (.limit(.lists), false, .malformedMessage),
        (.limit(.installations), false, .malformedMessage), (.limit(.rate), false, .internalError),
        (.limit(.storage), false, .internalError), (.limit(.newInstallations), false, .internalError),
    ])
    func `a reply has the decision and the id of the request`(
        decision: RegistrationDecision, success: Bool, error: RegistrationError
    ) throws {
        let response = try #require(RegistrationRules.response(to: decision, requestID: requestID))
        #expect(response.success == success)
        #expect(response.error == error)
        #expect(response.requestID == requestID.bytes)
    }

    @Test func `row 1: a discarded message gets no reply`() {
        #expect(RegistrationRules.response(to: .discard, requestID: requestID) == nil)
    }

    @Test func `row 12: a failing store is reported as INTERNAL_ERROR`() {
        let response = RegistrationRules.internalErrorResponse(requestID: requestID)
        #expect(!response.success)
        #expect(response.error == .internalError)
        #expect(response.requestID == requestID.bytes)
    }

    @Test func `installations are distinguished by the bytes of their ids`() {
        let composed = Installation(keyHash: Fixture.keyHash, installationID: "\u{E9}")
        let decomposed = Installation(keyHash: Fixture.keyHash, installationID: "e\u{301}")
        #expect(composed != decomposed)
        #expect(Set([composed, decomposed, composed]).count == 2)
    }
}
