import Bytes
import Envelope
import GRDB
import GRDBSQLite
import PushProtocol
import StatusCrypto
import Store
import TestSupport
import Testing
import Wire

@testable import SQLiteStore

/// How much the statements of the outbox do, in instructions of SQLite's virtual machine. Their plans would not tell: one that searches an
/// index may read all of it.
@Suite(.fewAtATime) struct OutboxWorkTests {
    /// The beginnings of those that do more if more pushes wait, and why they may.
    private static let exceptions = [
        "SELECT route, count(*) FROM push": "for a metric",
        "UPDATE push SET trust = 1, next_attempt_at = CASE": "once for each bundle id, of those that only few slots are for",
    ]
    private static let routes: Set = [
        RouteAssignment(tokenType: .apn, apnTopic: "", route: "ios"), RouteAssignment(tokenType: .firebase, apnTopic: "", route: "android"),
    ]
    private static let later = start.advanced(by: .seconds(60))

    @Test func `no statement does more because more pushes wait`() async throws {
        let (few, many) = (try await Self.work(besides: 40), try await Self.work(besides: 400))
        #expect(Set(few.keys) == Set(many.keys) && many.count > 40)
        for (statement, count) in many {
            let isException = Self.exceptions.keys.contains { statement.hasPrefix($0) }
            let fewCount = few[statement] ?? 0
            #expect((count > fewCount + fewCount / 4) == isException, "\(fewCount) instructions, and then \(count): \(statement)")
        }
    }

    /// Does each thing that a running server does with a few pushes, and returns the instructions of each statement.
    ///
    /// - Parameter count: How many others wait of each kind.
    private static func work(besides count: Int) async throws -> [String: Int] {
        let folder = try TemporaryFolder()
        let store = try folder.open(namedBundleIDs: ["named"])
        _ = try await store.takeOverOutbox(routes: routes, latest: start)
        var registration = registration()
        registration.content.apnTopic = "named"
        try await store.register(registration)
        let own = (1...9).map { push($0, token: $0 == 1 ? "shared" : "own \($0)") }
        try await store.enqueue(own)
        try await ring(1...1, on: .ios, in: store)
        try await addOthers(1_001...1_000 + count, to: store)

        _ = try await instructionCounts(of: store)
        try await deliver(own, in: store)
        let counts = try await instructionCounts(of: store)
        await store.close()
        return counts
    }

    /// Pushes to the device of the first, to other devices of the route, to unknown bundle ids, and to another route, and calls there.
    private static func addOthers(_ numbers: ClosedRange<Int>, to store: SQLiteStore) async throws {
        let others = numbers.flatMap { number in
            [
                push(number, token: "shared"), push(number + 1_000_000, token: "other \(number)"),
                push(number + 2_000_000, token: "new \(number)", apnTopic: "unknown"),
                push(number + 3_000_000, token: "android \(number)", type: .firebase),
            ]
        }
        try await store.enqueue(others, at: later)
        try await ring(numbers, on: .android, in: store)
        try await store.change(Array(20..<Int64(numbers.count)), to: .finish(.sent), at: later)
    }

    private static func deliver(_ own: [AcceptedPush], in store: SQLiteStore) async throws {
        let devices = try own.map { try store.sealing.device(of: $0.targetDigest) }
        try await store.enqueue([push(10, token: "own 10")], at: later)
        try await ring(2...2, on: .ios, in: store)
        for trust in PushTrust.allCases {
            for last in [nil, DeviceCode()] { _ = try await store.waitingDevices(route: "ios", trust: trust, after: last, limit: 2) }
        }
        guard case .moved = try await store.lookUp(devices[0], route: "ios", at: later) else { throw StoreError.damaged }
        try await store.attempt([2, 3], until: later)
        try await store.attempt([4], until: later.advanced(by: .seconds(900)), isUnknown: true)
        for device in devices[1...] { _ = try await store.lookUp(device, route: "ios", at: later) }
        _ = try await store.mark([5], until: later)
        _ = try await store.waitingCalls(route: "ios", limit: 9)
        _ = try await store.uncertainDevices(route: "ios", limit: 9)
        _ = try await store.bringForward(route: "ios", limit: 9, at: later)
        var update = OutboxUpdate()
        update.pushes = [.init(id: 5, .release(.queued), refusals: PushRefusals(refusedAt: start)), .init(id: 6, .finish(.sent))]
        update.deliveredBundleIDs = [("ios", "named")]
        update.tokens = [
            .suspect(hash(1), Suspicion(since: start, refusedAt: start), route: "ios"), .clearSuspicion(hash(1)), .deliveredToken(hash(1)),
            .delivered(TargetRegistration(row: 1, version: 1)), .expirePushes(to: devices[6], route: "ios", reason: .badDeviceToken),
        ]
        _ = try await store.update(update, at: later)
        _ = try await store.state { lookups in
            lookups.pushCounts = [own[0].target: 100]
            lookups.deduplicationKeys = [own[0].deduplicationKey]
            lookups.allowances.now = start
        }
        try await store.unregister(own[0].target, version: 2)
        _ = try await store.suspicions(against: [hash(1)], in: "ios")
        try await store.withdraw([8], at: later)
        let old = start.advanced(by: .seconds(30))
        #expect(try await store.expireCalls(route: "ios", acceptedBefore: old, limit: 9, at: later) == 2)
        #expect(try await store.expirePushes(route: "ios", acceptedBefore: old, limit: 9, at: later) == 5)
        _ = try await store.queuedPushCounts()
    }

    private static func push(_ number: Int, token: DeviceToken, type: TokenType = .apn, apnTopic: String = "named") -> AcceptedPush {
        var push = StoreTests.push(number)
        (push.deviceToken, push.tokenType, push.apnTopic, push.deduplicationKey) = (token, type, apnTopic, digest(number))
        return push
    }

    private static func ring(_ numbers: ClosedRange<Int>, on platform: GatewayNotification.Platform, in store: SQLiteStore) async throws {
        let calls = numbers.map { number in
            var call = GatewayNotification(
                platform: platform, token: DeviceToken("phone \(number)"), topic: "named", kind: .voip, priority: .high, data: [:])
            call.isCall = true
            return AcceptedNotification(call, digest: digest(number + 4_000_000))
        }
        _ = try await store.enqueue(calls, repeatsSince: start, isDiscarded: false, at: start)
    }

    /// Returns a digest whose first bytes, which the index has, are its own.
    private static func digest(_ number: Int) -> Digest32 { SHA256.hash(Array("\(number)".utf8)) }

    /// Returns how many instructions each prepared statement has run since the last call (https://www.sqlite.org/c3ref/stmt_status.html).
    private static func instructionCounts(of store: SQLiteStore) async throws -> [String: Int] {
        try await store.pool.writeWithoutTransaction { take($0) }.merging(store.read { take($0) }, uniquingKeysWith: +)
    }

    private static func take(_ database: Database) -> [String: Int] {
        var counts: [String: Int] = [:]
        var statement = unsafe sqlite3_next_stmt(database.sqliteConnection, nil)
        while let current = unsafe statement {
            let count = unsafe Int(sqlite3_stmt_status(current, SQLITE_STMTSTATUS_VM_STEP, 1))
            let sql = unsafe String(cString: sqlite3_sql(current)).split(whereSeparator: \.isWhitespace).joined(separator: " ")
            if count > 0 { counts[sql, default: 0] += count }
            unsafe statement = sqlite3_next_stmt(database.sqliteConnection, current)
        }
        return counts
    }
}
