import Bytes
import Envelope
import Foundation
import GRDB
import Logging
import PushProtocol
import SQLiteStore
import StatusCrypto
import Store
import Synchronization
import TestServers
import TestSupport
import Testing
import Wire

@testable import Delivery
@testable import PostgreSQLStore

/// A database and two clocks that tests advance.
final class World: ManuallyClocked, Sendable {
    static let start = Timestamp(nanoseconds: 1_800_000_000_000_000_000)

    let clock = ManualClock()
    let wallClock = ManualWallClock(World.start)
    let unregistered = Recorder<ChangedRegistration>()
    private let folder: TemporaryFolder
    /// The parameters of connections to the database, if it is PostgreSQL's.
    private let parameters: [String: String]?

    /// A world with an SQLite database.
    init() throws {
        folder = try TemporaryFolder()
        parameters = nil
    }

    init(_ kind: TestDatabase) async throws {
        folder = try TemporaryFolder()
        parameters = kind == .postgresql ? try await TestDatabase.newPostgreSQL(in: folder) : nil
    }

    var database: String { folder.path("push.sqlite") }

    func open(server: String = "one", maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount) throws -> any PushStore {
        if let parameters {
            return try PostgreSQLStore(
                parameters, identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, serverName: server,
                maximumQueueCount: maximumQueueCount, clock: clock, logger: quietLogger)
        }
        return try SQLiteStore(
            path: database, identity: FixedBytes(repeating: 2), sealingKeys: testSealingKeys, maximumQueueCount: maximumQueueCount,
            logger: quietLogger)
    }

    func accept(_ pushes: [AcceptedPush], message: Int64 = 1, in store: any PushStore) async throws {
        let now = wallClock.now
        try await store.apply(at: now) { batch in
            for push in pushes { batch.enqueue(push, message: message) }
        }
    }

    /// Opens the database while no delivery runs on it.
    func withStore(_ body: (any PushStore) async throws -> Void) async throws {
        let store = try open()
        try await body(store)
        await store.close()
    }

    /// Returns the world after a power cut at this moment.
    func crashed() throws -> World {
        let world = try World()
        for suffix in ["", "-wal"] {
            try FileManager.default.copyItem(atPath: database + suffix, toPath: world.database + suffix)
        }
        world.wallClock.set(wallClock.now)
        return world
    }

    /// Runs a delivery, and shuts it down as SIGTERM would.
    func withDelivery(
        of server: String = "one", to url: String, logger: Logger = quietLogger,
        maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount,
        mayPost: @escaping @Sendable (_ memberNumber: Int64) -> Bool = { _ in true },
        _ configure: (inout DeliveryConfiguration) -> Void = { _ in },
        _ body: @escaping @Sendable (Running) async throws -> Void
    ) async throws {
        let store = try open(server: server, maximumQueueCount: maximumQueueCount)
        var configuration = DeliveryConfiguration(endpoint: .init(url: url))
        // A hanging request lasts longer than a test, and no request times out.
        configuration.timeout = .seconds(3_600)
        configuration.probeTimeout = .seconds(3_600)
        configure(&configuration)
        let loop = DeliveryLoop(
            store: store, configuration: configuration, clock: clock, wallClock: wallClock.clock, logger: logger,
            mayPost: mayPost, onUnregistered: { self.unregistered.append(contentsOf: $0) })
        let running = Running(world: self, store: store, loop: loop)
        try await withRunning([loop], closing: store) {
            try await body(running)
            // What waits is told: the reading of all each ten minutes finds nothing.
            #expect(loop.reports.map(\.missedDeviceCount).reduce(0, +) == 0)
        }
    }
}

/// A running delivery.
struct Running: Sendable {
    let world: World
    let store: any PushStore
    let loop: DeliveryLoop
    /// The clock's time at the creation of the delivery.
    private let origin: Duration

    init(world: World, store: any PushStore, loop: DeliveryLoop) {
        self.world = world
        self.store = store
        self.loop = loop
        origin = world.clock.now.offset
    }

    func accept(_ pushes: [AcceptedPush], message: Int64 = 1) async throws {
        try await world.accept(pushes, message: message, in: store)
        loop.wake()
    }

    /// Waits until only the clock can cause further events and all outcomes are recorded, and returns the remaining time.
    @discardableResult
    func settle() async throws -> Duration {
        while true {
            let elapsed = world.clock.now.offset - origin
            // A loop that becomes idle falls asleep, which changes the clock.
            await world.clock.sleepers { _ in loop.idleUntil(at: elapsed) != nil }
            guard let end = loop.idleUntil(at: elapsed) else { throw CancellationError() }
            guard end - elapsed <= UnrecordedOutcomes.delay else { return end - elapsed }
            world.advance(by: end - elapsed)
        }
    }

    struct NeverSo: Error {}

    /// Advances the clock from one event to the next until the condition holds.
    ///
    /// - Returns: The time that has passed.
    @discardableResult
    func pass(until isSo: () async throws -> Bool) async throws -> Duration {
        let start = world.clock.now
        while true {
            try Task.checkCancellation()
            let idle = try await settle()
            let passed = start.duration(to: world.clock.now)
            if try await isSo() { return passed }
            // Nothing waits so long.
            guard passed < .seconds(30 * 86_400) else { throw NeverSo() }
            world.advance(by: idle)
        }
    }

    /// Advances the clock by a time, from one event to the next.
    ///
    /// - Parameter check: A function that is called before each step.
    func pass(_ duration: Duration, _ check: () async throws -> Void = {}) async throws {
        let end = world.clock.now.advanced(by: duration)
        while case let rest = world.clock.now.duration(to: end), rest > .zero {
            try Task.checkCancellation()
            let idle = try await settle()
            try await check()
            world.advance(by: min(idle, rest))
        }
    }

    func outcomes() async throws -> [Milestone: Int64] {
        try await store.auditFacts().rowCounts
    }

    func isAllDone() async throws -> Bool {
        try await store.queuedPushCount() == 0
    }

    func audit() async throws -> Audit {
        Audit(try await store.auditFacts())
    }
}

extension World {
    /// Reads a number without the server's knowledge.
    func number(_ query: String) async throws -> Int? {
        guard let connection = try session() else { return try await file { try await $0.read { try Int.fetchOne($0, sql: query) } } }
        return try connection.run([Command(query)])[0].map { try $0.next(Int?.self) }.first ?? nil
    }

    /// Reads a text without the server's knowledge.
    func text(_ query: String) async throws -> String? {
        guard let connection = try session() else { return try await file { try await $0.read { try String.fetchOne($0, sql: query) } } }
        return try connection.run([Command(query)])[0].map { try $0.next(String?.self) }.first ?? nil
    }

    /// Changes the database without the server's knowledge.
    func execute(_ sql: String) async throws {
        guard let connection = try session() else { return try await file { try await $0.write { try $0.execute(sql: sql) } } }
        _ = try connection.run([Command(sql)])
    }

    /// Counts pushes without the server's knowledge.
    func count(_ condition: String) async throws -> Int {
        try await number("SELECT count(*) FROM push WHERE \(condition)") ?? 0
    }

    /// Returns another session of PostgreSQL, or nil for SQLite.
    func session() throws -> Connection? { try parameters.map { try Connection($0) } }

    private func file<Value>(_ body: (DatabaseQueue) async throws -> Value) async throws -> Value {
        let queue = try DatabaseQueue(path: database)
        defer { try? queue.close() }
        return try await body(queue)
    }
}

func iosToken(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return "a1" + String(repeating: "0", count: 62 - digits.count) + digits
}

func iosPush(_ number: Int, topic: String = "im.status.ethereum", token: String? = nil) -> AcceptedPush {
    push(number, type: .apn, token: token ?? iosToken(number), topic: topic)
}

func androidToken(_ number: Int) -> String { "fcm:token_\(number)_of-a-device" }

/// - Parameter owner: The owner of the device. nil means an owner of its own.
func androidPush(_ number: Int, token: String? = nil, owner: Int? = nil) -> AcceptedPush {
    push(number, type: .firebase, token: token ?? androidToken(number), topic: "", owner: owner)
}

private func push(_ number: Int, type: TokenType, token: String, topic: String, owner: Int? = nil) -> AcceptedPush {
    AcceptedPush(
        target: Installation(
            keyHash: Digest64(repeating: UInt8(truncatingIfNeeded: owner ?? number)), installationID: "installation-\(number)"),
        deduplicationKey: SHA256.hash(Array("\(type.rawValue) \(number)".utf8)), tokenType: type, deviceToken: DeviceToken(token),
        apnTopic: topic,
        type: .message, chatID: [1, 2], message: [3, 4, 5])
}

func registration(of push: AcceptedPush, version: UInt64 = 1) -> Registration {
    var content = PushNotificationRegistration()
    content.tokenType = push.tokenType
    content.deviceToken = push.deviceToken
    content.installationID = push.target.installationID
    content.accessToken = "access token"
    content.enabled = true
    content.version = version
    content.allowedKeyList = [[1], [2, 3]]
    content.blockedChatList = [[4]]
    content.grant = [UInt8](repeating: 5, count: 65)
    content.apnTopic = push.apnTopic
    return Registration(keyHash: push.target.keyHash, content: content, plaintextDigest: Digest32(repeating: 7))
}

extension PushStore {
    func version(of installation: Installation) async throws -> StoredVersion? {
        let committed = await commit([()], at: World.start) { _ in
            var lookups = Lookups()
            lookups.registrations = [installation]
            return lookups
        } deciding: {
            $1.state.versions[installation]
        }
        return try committed.outcomes[0].get()
    }
}
