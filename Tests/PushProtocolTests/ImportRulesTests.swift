import Bytes
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

/// The rows of a reference server, one by one (STATUS_GO_DATABASE.md §6).
@Suite(.safetyNet) struct ImportRulesTests {
    typealias Change = @Sendable (inout PushNotificationRegistration) -> Void

    private func row(_ change: (inout PushNotificationRegistration) -> Void = { _ in }) -> ForeignInstallation {
        row(of: Fixture.registration(change).encoded())
    }

    private func row(of registration: [UInt8]?, version: Int64 = 5, installationID: String = Fixture.installationID) -> ForeignInstallation
    {
        ForeignInstallation(
            keyHash: Fixture.keyHash.bytes, installationID: installationID, version: version, registration: registration)
    }

    private let installation = Installation(keyHash: Fixture.keyHash, installationID: Fixture.installationID)

    @Test func `a registration is taken with the digest of the bytes that its client sent, unknown fields included`() {
        let plaintext = Fixture.registration().encoded() + [0xF8, 0x07, 1]
        let registration = Registration(
            keyHash: Fixture.keyHash, content: Fixture.registration(), plaintextDigest: SHA256.hash(plaintext.span))
        #expect(ImportRules.decide(row(of: plaintext)) == .register(registration, exceptions: []))
    }

    @Test func `the highest version of the reference is taken, for registrations and tombstones`() {
        let decision = ImportRules.decide(row(of: Fixture.registration { $0.version = UInt64(Int64.max) }.encoded(), version: .max))
        guard case .register(let registration, _) = decision else { return #expect(Bool(false), "\(decision)") }
        #expect(registration.content.version == UInt64(Int64.max))
        guard case .tombstone(_, let version, _, _) = ImportRules.decide(row(of: nil, version: .max)) else {
            return #expect(Bool(false), "no tombstone")
        }
        #expect(version == UInt64(Int64.max))
    }

    @Test(arguments: [
        "c6ae4fde-bb65-11ea-b3de-0242ac130004", "C6AE4FDE-BB65-11EA-B3DE-0242AC130004", "c6ae4fdebb6511eab3de0242ac130004",
        "urn:uuid:c6ae4fde-bb65-11ea-b3de-0242ac130004", "{c6ae4fde-bb65-11ea-b3de-0242ac130004}",
    ])
    func `an installation id is taken in the form that its client sent`(installationID: String) {
        let plaintext = Fixture.registration { $0.installationID = installationID }.encoded()
        let decision = ImportRules.decide(row(of: plaintext, installationID: installationID))
        guard case .register(let registration, exceptions: []) = decision else { return #expect(Bool(false), "\(decision)") }
        #expect(registration.installation == Installation(keyHash: Fixture.keyHash, installationID: installationID))
    }

    /// The forms of tombstones: NULL, that of release 0.56, and one with the field `unregister`.
    @Test(arguments: [nil, [false], [true]] as [[Bool]?])
    func `a tombstone has the digest of a Go client's unregistration`(unregisters: [Bool]?) {
        var message = PushNotificationRegistration()
        message.installationID = Fixture.installationID
        message.version = 5
        let content = unregisters.map { flags in
            message.unregister = flags[0]
            return message.encoded()
        }
        message.unregister = true
        let digest = SHA256.hash(message.encoded().span)
        #expect(
            ImportRules.decide(row(of: content)) == .tombstone(installation, version: 5, plaintextDigest: digest, refusal: nil))
    }

    private static let refused: [(ImportRefusal, Change)] = [
        (.accessToken, { $0.accessToken = "" }), (.accessToken, { $0.accessToken = "no UUID" }),
        (.grant, { $0.grant = [] }), (.grant, { $0.grant = Array(repeating: 1, count: 64) + [2] }),
        (.deviceToken, { $0.deviceToken = "" }),
        (.deviceToken, { $0.deviceToken = DeviceToken(String(repeating: "../", count: 22)) }),
        (
            .deviceToken,
            {
                $0.tokenType = .firebase
                $0.deviceToken = DeviceToken(String(repeating: "f", count: 5_000))
            }
        ),
        (.tokenType, { $0.tokenType = TokenType(rawValue: 99) }), (.bundleID, { $0.apnTopic = "" }),
        (.bundleID, { $0.apnTopic = String(repeating: "b", count: 256) }), (.otherContent, { $0.version = 4 }),
        (.otherContent, { $0.installationID = "another" }),
    ]

    @Test(arguments: refused)
    func `a registration that cannot serve keeps its version as a tombstone`(
        refusal: ImportRefusal, change: Change
    ) {
        let plaintext = Fixture.registration(change).encoded()
        let digest = SHA256.hash(plaintext.span)
        #expect(ImportRules.decide(row(of: plaintext)) == .tombstone(installation, version: 5, plaintextDigest: digest, refusal: refusal))
    }

    @Test(arguments: [[], [0xFF], [0x0A, 0x05, 0x01]] as [[UInt8]])
    func `content without a registration keeps its version as a tombstone`(content: [UInt8]) {
        let refusal: ImportRefusal = content.isEmpty ? .otherContent : .unreadable
        #expect(
            ImportRules.decide(row(of: content))
                == .tombstone(installation, version: 5, plaintextDigest: SHA256.hash(content.span), refusal: refusal))
    }

    private static let taken: [([ImportException], Change)] = [
        ([.accessToken], { $0.accessToken = "[b6ae4fde-bb65-11ea-b3de-0242ac130004]" }),
        ([], { $0.accessToken = "{b6ae4fde-bb65-11ea-b3de-0242ac130004}" }), ([], { $0.enabled = false }),
        ([], { $0.allowedKeyList = Array(repeating: [1], count: 4_001) }),
        ([.lists], { $0.blockedChatList = [Array(repeating: 1, count: (512 << 10) + 1)] }),
        ([], { $0.allowedKeyList = Array(repeating: Array(repeating: 1, count: 64), count: 250) }),
    ]

    @Test(arguments: taken)
    func `a registration that can serve is taken as it is`(
        exceptions: [ImportException], change: Change
    ) {
        let decision = ImportRules.decide(row(change))
        guard case .register(let registration, exceptions) = decision else { return #expect(Bool(false), "\(decision)") }
        #expect(registration.content == Fixture.registration(change))
    }

    @Test func `a row without key hash, installation id or version is not imported`() {
        let registration = Fixture.registration().encoded()
        var damaged = row()
        damaged.keyHash = [1]
        #expect(ImportRules.decide(damaged) == .skip(.keyHash))
        for installationID in ["", String(repeating: "x", count: 129)] {
            #expect(ImportRules.decide(row(of: registration, installationID: installationID)) == .skip(.installationID))
        }
        for version in [0, -1, .min] as [Int64] { #expect(ImportRules.decide(row(of: registration, version: version)) == .skip(.version)) }
        // The content is that of another row, so these become tombstones.
        let longest = String(repeating: "x", count: 128)
        #expect(ImportRules.decide(row(of: registration, installationID: longest)) != .skip(.installationID))
        #expect(ImportRules.decide(row(of: registration, version: 1)) != .skip(.version))
    }
}
