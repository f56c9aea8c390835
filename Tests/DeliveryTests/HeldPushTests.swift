import Bytes
import PushProtocol
import StatusCrypto
import Store
import Synchronization
import TestServers
import TestSupport
import Testing

@testable import Delivery
@testable import PostgreSQLStore

/// Another session of PostgreSQL holds rows of the outbox, as a person does who left a transaction open. What it holds waits, and is looked
/// at again within seconds after it has let go; everybody else's pushes go on.
@Suite(.safetyNet) struct HeldPushTests {
    private let world: World

    init() async throws { world = try await World(.postgresql) }

    /// Another session of the database.
    private final class Session: Sendable {
        private let connection: Mutex<Connection>

        init(_ world: World) throws { connection = Mutex(try #require(try world.session())) }

        /// - Returns: The number of rows of the last statement.
        @discardableResult
        func run(_ statements: String...) throws -> Int {
            try connection.withLock { connection in try statements.map { try connection.run([Command($0)])[0].count }.last ?? 0 }
        }
    }

    /// Holds rows during the body.
    private func withHeld(_ rows: String, _ body: () async throws -> Void) async throws {
        let session = try Session(world)
        let count = try session.run("BEGIN", "SELECT true FROM \(rows) FOR UPDATE")
        #expect(count > 0)
        try await body()
        try session.run("ROLLBACK")
    }

    private static func rows(of push: AcceptedPush) -> String {
        "push WHERE installation_id = '\(push.target.installationID)'"
    }

    /// Runs a delivery that looks nothing up before it is told to start.
    private func withDelivery(
        _ stub: StubGorush,
        _ body: @escaping @Sendable (_ running: Running, _ start: @escaping @Sendable () async throws -> Void) async throws -> Void
    ) async throws {
        let mayPost = Atomic(false)
        try await world.withDelivery(to: await stub.url, mayPost: { _ in mayPost.load(ordering: .relaxed) }) { running in
            // A start waits for rows whose routes it changes.
            try await running.settle()
            try await body(running) {
                try await running.settle()
                mayPost.store(true, ordering: .relaxed)
                running.loop.wake()
                world.advance(by: Schedule.storeRetryInterval)
            }
            #expect(try await running.audit().balances)
        }
    }

    @Test(arguments: [nil, "The service is currently unavailable."])
    func `an outcome waits for its row, and neither others nor the phone's next push wait for it`(error: String?) async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                let mayAnswer = Condition(false)
                stub.fail(token: androidToken(1), with: error)
                stub.next(.delay(until: mayAnswer), takesBatch: true)
                try await running.accept([androidPush(1)])
                try await start()
                await stub.posts.wait(for: 1)
                try await withHeld(Self.rows(of: androidPush(1))) {
                    mayAnswer.change { $0 = true }
                    try await running.settle()
                    stub.fail(token: androidToken(1), with: nil)
                    try await running.accept([androidPush(1), androidPush(2)], message: 2)
                    #expect(try await running.pass { try await running.outcomes()[.sent] == 2 } <= .seconds(4))
                    try await running.pass(.seconds(30))
                    #expect(try await running.store.queuedPushCount() == 1)
                }
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(4))
                #expect(stub.posts.all.count == (error == nil ? 3 : 4))
            }
        }
    }

    @Test(arguments: [(seconds: 3, rings: true), (70, false)])
    func `a call waits for its row during its minute, and nobody else waits`(seconds: Int, rings: Bool) async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                try await enqueueCall(in: running)
                try await withHeld("push") {
                    try await start()
                    try await running.accept([androidPush(2)])
                    #expect(try await running.pass { try await running.outcomes()[.sent] == 1 } <= .seconds(2))
                    try await running.pass(.seconds(seconds))
                    #expect(stub.posts.all.count == 1)
                }
                try await running.pass { try await running.isAllDone() }
                #expect(try await running.outcomes() == (rings ? [.sent: 2] : [.sent: 1, .expired: 1]))
                #expect(stub.posts.all.count == (rings ? 2 : 1))
            }
        }
    }

    @Test func `a push that is too old waits for its row, and ends`() async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                try await running.accept([androidPush(1)])
                try await world.execute("UPDATE push SET accepted_at = accepted_at - 86400000000000 * 2")
                try await withHeld("push") {
                    try await start()
                    try await running.accept([androidPush(2)])
                    #expect(try await running.pass { try await running.outcomes()[.sent] == 1 } <= .seconds(2))
                }
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(120))
                #expect(try await running.outcomes() == [.sent: 1, .expired: 1])
            }
        }
    }

    @Test func `all pushes of a phone follow its new token once their rows are free`() async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                let push = androidPush(1)
                let moved = androidPush(1, token: androidToken(7))
                func register(_ push: AcceptedPush, version: UInt64) async throws {
                    try await running.store.apply(at: world.wallClock.now) { batch in
                        batch.register(registration(of: push, version: version), topics: QueryTopics(plain: 1, prefixed: 2))
                    }
                }
                try await register(push, version: 1)
                try await running.accept(
                    (1...3).map { number in
                        var push = push
                        push.deduplicationKey = Digest32(repeating: UInt8(number))
                        return push
                    })
                try await withHeld("push") {
                    try await register(moved, version: 2)
                    try await start()
                    try await running.pass(.seconds(20))
                    #expect(stub.notifications.all.isEmpty)
                }
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(4))
                #expect(stub.notifications.all.map(\.tokens) == Array(repeating: [androidToken(7)], count: 3))
            }
        }
    }

    @Test func `the first delivery to a bundle id passes held rows by`() async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                let pushes = (1...40).map { iosPush($0, topic: "org.example.new") }
                try await running.accept(pushes)
                try await withHeld(Self.rows(of: pushes[39])) {
                    try await start()
                    let time = try await running.pass { try await running.outcomes()[.sent] == 39 }
                    #expect(time <= .seconds(10))
                }
                #expect(try await running.pass { try await running.isAllDone() } <= .seconds(60))
                #expect(stub.notifications.all.count == 40)
            }
        }
    }

    @Test func `a held row costs each write of outcomes nothing after the first`() async throws {
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                let mayAnswer = Condition(false)
                stub.next(.delay(until: mayAnswer), takesBatch: true)
                try await running.accept([androidPush(1)])
                try await start()
                await stub.posts.wait(for: 1)
                try await withHeld("push") {
                    mayAnswer.change { $0 = true }
                    for number in 1...40 {
                        try await running.accept([androidPush(1 + number)])
                        try await running.pass { try await running.outcomes()[.sent] == Int64(number) }
                    }
                }
                try await running.pass { try await running.isAllDone() }
            }
        }
        // A session tells its figures when it ends at the latest.
        while try await world.number("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()") != 1 {
            try Task.checkCancellation()
        }
        let query = "SELECT xact_rollback FROM pg_stat_database WHERE datname = current_database()"
        let failedCount = try #require(try await world.number(query))
        // Each connection rolls its first transaction back.
        #expect(failedCount < 20)
    }

    /// Nobody advances the clock while the server stops.
    @Test func `a server stops at once although a call waits for its row`() async throws {
        let session = try Session(world)
        try await withStubGorush { stub in
            try await withDelivery(stub) { running, start in
                try await enqueueCall(in: running)
                try session.run("BEGIN", "SELECT true FROM push FOR UPDATE")
                try await start()
                try await running.pass(.milliseconds(1_500))
            }
            #expect(stub.posts.all.isEmpty)
        }
        try session.run("ROLLBACK")
        #expect(try await world.count("finished_at IS NULL") == 1)
    }

    /// The second one is that of a push which is accepted meanwhile, and has read the routes before.
    @Test(arguments: ["LOCK TABLE route", "SELECT pg_advisory_xact_lock_shared(71)"])
    func `a start that waits for somebody's lock says that the outbox cannot be used`(statement: String) async throws {
        let session = try Session(world)
        try await world.withStore { store in try await world.accept([androidPush(1)], in: store) }
        try session.run("BEGIN", statement)
        try await withStubGorush { stub in
            try await world.withDelivery(to: await stub.url) { running in
                await world.clock.sleepers(dueIn: Schedule.storeRetryInterval)
                let issues = running.loop.healthIssues
                #expect(issues.count == 2 && issues.allSatisfy { $0.contains("the outbox cannot be used") }, "\(issues)")
                try session.run("ROLLBACK")
                world.advance(by: Schedule.storeRetryInterval)
                try await running.pass { try await running.isAllDone() }
                #expect(running.loop.healthIssues == [])
                #expect(stub.posts.all.count == 1)
            }
        }
    }

    private func enqueueCall(in running: Running) async throws {
        var notification = GatewayNotification(
            platform: .android, token: DeviceToken(androidToken(1)), kind: .voip, priority: .high, data: ["number": "1"])
        notification.isCall = true
        let call = AcceptedNotification(notification, digest: SHA256.hash(Array("call".utf8)))
        _ = try await running.store.enqueue([call], repeatsSince: nil, isDiscarded: false, at: world.wallClock.now)
    }
}
