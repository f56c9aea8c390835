import Envelope
import Foundation
import Logging
import PushProtocol
import StatusCrypto
@testable import Store
import Wire

/// The server's key in these tests.
let identity = FixedBytes<33>(repeating: 2)
let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

/// A folder for one test, gone when the test is.
final class TemporaryFolder {
    let url = FileManager.default.temporaryDirectory.appending(path: "store-tests-\(UUID().uuidString)")

    init() throws {
        try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: url) }

    var database: String { url.appending(path: "push.sqlite").path() }

    func open(identity: FixedBytes<33> = identity, readOnly: Bool = false) throws -> PushStore {
        try PushStore(path: database, identity: identity, readOnly: readOnly, logger: Logger(label: "test"))
    }
}

/// A new database that is closed at the end.
func withStore(_ body: (PushStore, TemporaryFolder) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try await body(store, folder)
    await store.close()
}

func withStore(_ body: (PushStore) async throws -> Void) async throws {
    try await withStore { store, _ in try await body(store) }
}

/// A hash whose first 8 bytes, which the indexes hold, are all the same: lookups must look at the rest.
func hash<let count: Int>(_ number: Int) -> FixedBytes<count> {
    var hash = FixedBytes<count>(repeating: 0xAB)
    for index in 0..<8 { hash[count - 1 - index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    return hash
}

func installation(_ number: Int = 1, key: Int = 1) -> Installation {
    Installation(keyHash: hash(key), installationID: "installation-\(number)")
}

/// A registration with all of its fields in use.
func registration(_ installation: Installation = installation(), version: UInt64 = 1) -> Registration {
    var content = PushNotificationRegistration()
    content.tokenType = .apn
    content.deviceToken = "device token \(version)"
    content.installationID = installation.installationID
    content.accessToken = "access token \(version)"
    content.enabled = true
    content.version = version
    content.allowedKeyList = [[1], [], [2, 3]]
    content.blockedChatList = [[4]]
    content.grant = [UInt8](repeating: 5, count: 65)
    content.allowFromContactsOnly = true
    content.apnTopic = "im.status.ethereum"
    content.blockMentions = true
    content.allowedMentionsChatList = [[6], [7, 7]]
    content.mutedChatList = [[8], []]
    return Registration(keyHash: installation.keyHash, content: content, plaintextDigest: hash(Int(truncatingIfNeeded: version)))
}

let topics = QueryTopics(plain: 0x0102_0304, prefixed: 0xFFFE_FDFC)

func envelope(_ number: Int = 1) -> WakuEnvelope {
    var message = WakuMessage()
    message.payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 300)
    message.contentTopic = "/waku/1/0x01020304/rfc26"
    message.version = 1
    message.timestamp = 1_800_000_000_000_000_000 + Int64(number)
    message.meta = [1, 2]
    message.ephemeral = true
    return WakuEnvelope(pubsubTopic: "/waku/2/rs/16/\(number)", message: message)
}

func reply(_ number: Int = 1, type: MessageType = .pushNotificationResponse, status: Digest32? = hash(7)) -> Reply {
    Reply(
        type: type, payload: [UInt8(number), 0, 1], recipient: FixedBytes(repeating: 3), pubsubTopic: "/waku/2/rs/16/64",
        statusMessageID: status)
}

func push(_ number: Int = 1) -> AcceptedPush {
    AcceptedPush(
        target: installation(number), triple: hash(number), tokenType: .apn, deviceToken: "secret token", apnTopic: "topic",
        type: .mention, chatID: [9, 9], message: Array("secret message".utf8))
}

extension PushStore {
    /// Records one message that is not known yet.
    func record(_ number: Int, at now: Timestamp = start) async throws -> Int64 {
        let rows = try await record([(hash(number), envelope(number))], at: now)
        guard let row = rows.first ?? nil else { throw StoreError.damaged }
        return row
    }

    /// Attempts pushes, which fail.
    func attempt(_ pushes: [Int64], until next: Timestamp) async throws {
        try await commit { transaction throws in
            _ = try transaction.lease(pushes.map { ($0, hash(Int($0))) }, at: start)
            for push in pushes { try transaction.postpone(push, until: next) }
        }
    }

    @discardableResult
    func register(_ registration: Registration, topics: QueryTopics = topics, at now: Timestamp = start) async throws -> Int64 {
        try await commit { try $0.register(registration, topics: topics, at: now) }
    }
}

extension StoreTransaction {
    func storedVersion(of installation: Installation) throws -> StoredVersion? {
        try stored(installation)?.version
    }

    @discardableResult
    func register(_ registration: Registration, topics: QueryTopics, at now: Timestamp) throws -> Int64 {
        try register(registration, replacing: stored(registration.installation), topics: topics, at: now)
    }

    @discardableResult
    func unregister(_ installation: Installation, version: UInt64, plaintextDigest: Digest32, at now: Timestamp) throws -> Int64? {
        try unregister(installation, replacing: stored(installation), version: version, plaintextDigest: plaintextDigest, at: now)
    }
}

extension PushStore {
    func keyHash(ofRegistration row: Int64) async throws -> Digest64? {
        try await topicKeys([(row, false)]).first??.keyHash
    }
}
