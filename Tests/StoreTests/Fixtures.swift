import Bytes
import Envelope
import Foundation
import Logging
import PushProtocol
import SQLiteStore
import ServerCrypto
import StatusCrypto
import Store
import TestSupport
import Wire

/// The server's key in these tests.
let identity = FixedBytes<33>(repeating: 2)
let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

extension TemporaryFolder {
    var database: String { path("push.sqlite") }

    func open(
        identity: FixedBytes<33> = identity, sealingKeys: SealingKeys? = sealingKeys(1), readOnly: Bool = false,
        maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount,
        maximumStoredByteCount: Int? = nil, namedBundleIDs: Set<String> = [], logger: Logger = quietLogger
    ) throws -> SQLiteStore {
        try SQLiteStore(
            path: database, identity: identity, sealingKeys: sealingKeys, readOnly: readOnly, random: SplitMix64(seed: 1),
            maximumQueueCount: maximumQueueCount, maximumStoredByteCount: maximumStoredByteCount, namedBundleIDs: namedBundleIDs,
            logger: logger)
    }
}

/// Returns sealing keys with these ids, the newest first.
///
/// - Parameter seed: Distinguishes keys with the same id.
func sealingKeys(_ ids: UInt8..., seed: UInt8 = 0) -> SealingKeys? {
    SealingKeys(ids.map { ($0, SecretBytes(FixedBytes(repeating: $0 &+ seed))) })
}

/// Passes a new SQLite store to the body, and closes it at the end.
func withSQLiteStore(_ body: (SQLiteStore) async throws -> Void) async throws {
    let folder = try TemporaryFolder()
    let store = try folder.open()
    try await body(store)
    await store.close()
}

/// Returns a hash whose first 8 bytes, which the indexes contain, are equal for all numbers. Lookups must compare the other bytes.
func hash<let count: Int>(_ number: Int) -> FixedBytes<count> {
    var hash = FixedBytes<count>(repeating: 0xAB)
    for index in 0..<8 { hash[count - 1 - index] = UInt8(truncatingIfNeeded: number >> (8 * index)) }
    return hash
}

func installation(_ number: Int = 1, key: Int = 1) -> Installation {
    Installation(keyHash: hash(key), installationID: "installation-\(number)")
}

/// Returns a registration with values for all fields.
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

/// Entries of its chat lists, and others.
let listEntries: Set<[UInt8]> = [[4], [6], [7, 7], [8], [], [1], [7], [8, 0]]

extension PushTarget {
    init(_ registration: PushNotificationRegistration) { self.init(registration, asking: listEntries) }

    /// The target without the time of its registration.
    var content: PushTarget {
        var target = self
        target.registeredAt = PushTarget().registeredAt
        return target
    }
}

extension [QueryableRegistration] {
    /// The registrations without their times.
    var content: [QueryableRegistration] {
        map { registration in
            var registration = registration
            registration.registeredAt = QueryableRegistration().registeredAt
            return registration
        }
    }
}

let topics = QueryTopics(plain: 0x0102_0304, prefixed: 0xFFFE_FDFC)

func envelope(_ number: Int = 1) -> WakuEnvelope {
    var message = WakuMessage()
    message.payload = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 300)
    message.contentTopic = "/waku/1/0x01020304/rfc26"
    message.version = 1
    message.timestamp = 1_800_000_000_000_000_000 + Int64(number)
    message.meta = [1, 2]
    message.ephemeral = !number.isMultiple(of: 2)
    return WakuEnvelope(pubsubTopic: "/waku/2/rs/16/\(number)", message: message)
}

func reply(_ number: Int = 1, type: MessageType = .pushNotificationResponse, status: Digest32? = hash(7)) -> Reply {
    Reply(
        type: type, payload: [UInt8(number), 0, 1], recipient: FixedBytes(repeating: 3), pubsubTopic: "/waku/2/rs/16/64",
        statusMessageID: status)
}

func push(_ number: Int = 1) -> AcceptedPush {
    AcceptedPush(
        target: installation(number), deduplicationKey: hash(number), tokenType: .apn, deviceToken: "secret token", apnTopic: "topic",
        type: .mention, chatID: [9, 9], message: Array("secret message".utf8))
}

extension PushStore {
    /// Records one unknown message.
    func record(_ number: Int, at now: Timestamp = start) async throws -> Int64 {
        let rows = try await record([(hash(number), envelope(number))], at: now)
        guard let row = rows.first ?? nil else { throw StoreError.damaged }
        return row
    }

    func decide(_ messages: [Int64], as decision: MessageDecision, at now: Timestamp = start) async throws {
        try await apply(at: now) { batch in
            for message in messages { batch.decide(message, as: decision) }
        }
    }

    /// Returns the state for decisions.
    func state(at now: Timestamp = start, about ask: @escaping @Sendable (inout Lookups) -> Void) async throws -> DecisionState {
        let committed = await commit([()], at: now) { _ in
            var lookups = Lookups()
            ask(&lookups)
            return lookups
        } deciding: {
            $1.state
        }
        return try committed.outcomes[0].get()
    }

    /// - Returns: The number of the row.
    @discardableResult
    func register(_ registration: Registration, topics: QueryTopics = topics, at now: Timestamp = start) async throws -> Int64 {
        let changes = try await apply(at: now) { $0.register(registration, topics: topics) }
        guard case .added(let changed) = changes.first, changes.count == 1 else { throw StoreError.damaged }
        return changed.registration
    }

    /// - Returns: The number of the row, or nil if the installation was not registered.
    @discardableResult
    func unregister(
        _ installation: Installation = installation(), version: UInt64, plaintextDigest: Digest32 = hash(9), at now: Timestamp = start
    ) async throws -> Int64? {
        let changes = try await apply(at: now) {
            $0.unregister(installation, version: version, plaintextDigest: plaintextDigest, topics: topics)
        }
        guard case .removed(let changed) = changes.first else { return nil }
        return changed.registration
    }

    func enqueue(_ pushes: [AcceptedPush], message: Int64 = 1, at now: Timestamp = start, isDiscarded: Bool = false) async throws {
        try await apply(at: now) { batch in
            for push in pushes { batch.enqueue(push, message: message, isDiscarded: isDiscarded) }
        }
    }

    func change(_ pushes: [Int64], to change: OutboxUpdate.PushChange, at now: Timestamp = start) async throws {
        var update = OutboxUpdate()
        update.pushes = pushes.map { .init(id: $0, change) }
        _ = try await self.update(update, at: now)
    }

    /// Records a failed attempt at each push.
    func attempt(_ pushes: [Int64], until next: Timestamp = start, count: Int = 1, isUnknown: Bool = false, at now: Timestamp = start)
        async throws
    {
        var update = OutboxUpdate()
        update.pushes = pushes.map {
            .init(id: $0, .retry(at: next, isUnknown: isUnknown), attempt: OutboxUpdate.Attempt(count: count, at: now))
        }
        _ = try await self.update(update, at: now)
    }

    /// Removes all registrations with a device token.
    func unregister(
        token: DeviceToken, type: TokenType = .apn, apnTopic: String = "im.status.ethereum", tried: TargetRegistration? = nil,
        attemptedAt: Timestamp, at now: Timestamp
    ) async throws -> [ChangedRegistration] {
        var update = OutboxUpdate()
        update.tokens = [
            .unregister(
                DeadToken(
                    token: token, type: type, apnTopic: apnTopic, tried: tried, attemptedAt: attemptedAt, reason: .apnsUnregistered,
                    route: "ios"))
        ]
        return try await self.update(update, at: now).unregistered
    }

    func version(of installation: Installation = installation()) async throws -> StoredVersion? {
        try await state { $0.registrations = [installation] }.versions[installation]
    }

    func target(_ installation: Installation = installation(), loading entries: Set<[UInt8]> = listEntries) async throws -> PushTarget? {
        try await state { $0.targets = [installation: entries] }.targets[installation]
    }

    func queryable(_ key: Int = 1) async throws -> [QueryableRegistration]? {
        try await state { $0.queries = [[hash(key)]] }.queryable[hash(key)]
    }

    func keyHash(ofRegistration row: Int64) async throws -> Digest64? {
        try await topicKeys([(row, false)]).first??.keyHash
    }
}
