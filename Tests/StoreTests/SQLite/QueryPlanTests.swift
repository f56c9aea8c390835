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

@Suite(.safetyNet)
struct QueryPlanTests {
    @Test func `no statement of daily work scans a table`() async throws {
        try await withSQLiteStore { store in
            let numbers = 1...50
            for number in numbers { _ = try await store.record(number) }
            try await store.apply(at: start) { batch in
                for number in numbers {
                    var registration = registration(installation(number, key: number))
                    registration.content.deviceToken = "0123456789abcdef \(number)"
                    batch.register(registration, topics: topics)
                    batch.enqueue(push(number), message: Int64(number))
                }
                for number in numbers.dropLast(10) {
                    batch.decide(Int64(number), as: number < 20 ? .answered(reply(number, status: hash(number))) : .silent)
                    batch.markPublished([Int64(number)])
                }
            }
            _ = try await store.state { lookups in
                lookups.registrations = Set(numbers.map { installation($0, key: $0) })
                for number in numbers { lookups.targets[installation(number, key: number)] = listEntries }
                lookups.deduplicationKeys = Set(numbers.map { hash($0) })
                lookups.requests = Set(numbers.map { hash($0) })
                lookups.queries = numbers.map { [hash($0)] }
                for number in numbers { lookups.pushCounts[installation(number, key: number)] = ProtocolLimits.pushCapacity + 1 }
            }
            try await store.unregister(installation(1, key: 1), version: 2)
            _ = try await store.unregister(token: "0123456789abcdef 2", attemptedAt: start.advanced(by: .seconds(1)), at: start)
            _ = try await store.restoreDeadRegistrations([1], at: start)
            _ = try await store.suspicions(against: [hash(1)], in: "")
            _ = try await store.recentDevices(route: "", since: start, limit: 9)
            var update = OutboxUpdate()
            update.tokens = [
                .suspect(hash(1), Suspicion(since: start, refusedAt: start), route: ""), .clearSuspicion(hash(1)),
                .deliveredToken(hash(1)), .expirePushes(to: DeviceCode(), route: "", reason: .badDeviceToken),
            ]
            _ = try await store.mark([3], until: start)
            update.pushes = [.init(id: 3, .release(.queued), refusals: PushRefusals(refusedAt: start))]
            _ = try await store.update(update, at: start)
            for number in numbers {
                try await store.saveTopicKey(FixedBytes(repeating: 1), keyHash: hash(number), prefixed: true)
                _ = try await store.keyHash(ofRegistration: Int64(number))
            }
            try await store.change([1], to: .finish(.sent))
            try await store.attempt([2], until: start)
            _ = try await store.duePushes(route: "", at: start, limit: 1)
            _ = try await store.nextAttempt(route: "")
            _ = try await store.lookUp(DeviceCode(), route: "", at: start)
            _ = try await store.waitingCalls(route: "", limit: 9)
            _ = try await store.uncertainDevices(route: "", limit: 9)
            _ = try await store.bringForward(route: "", limit: 9, at: start)
            _ = try await store.expireCalls(route: "", acceptedBefore: start, limit: 9, at: start)
            _ = try await store.expirePushes(route: "", acceptedBefore: start, limit: 1, at: start)
            _ = try await store.undecided(Array(1...9))
            _ = try await store.unreplied(Array(1...9))
            try await store.apply(at: start) { batch in
                for number in numbers.suffix(10) {
                    batch.decide(Int64(number), as: .answered(reply(number, type: .pushNotificationRegistrationResponse, status: nil)))
                }
            }
            _ = try await store.prune(at: start)

            try await store.pool.writeWithoutTransaction { try expectNoFullScan($0, minimumStatementCount: 20) }
            try await store.read { try expectNoFullScan($0, minimumStatementCount: 5) }
        }
    }

    /// Checks each statement that the connection has prepared for full scans (https://www.sqlite.org/c3ref/c_stmtstatus_counter.html).
    private func expectNoFullScan(_ database: Database, minimumStatementCount: Int) throws {
        var statementCount = 0
        var statement = unsafe sqlite3_next_stmt(database.sqliteConnection, nil)
        while let current = unsafe statement {
            statementCount += 1
            let stepCount = unsafe sqlite3_stmt_status(current, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0)
            let sql = unsafe String(cString: sqlite3_sql(current))
            #expect(stepCount == 0, "\(sql)")
            unsafe statement = sqlite3_next_stmt(database.sqliteConnection, current)
        }
        #expect(statementCount >= minimumStatementCount)
    }
}
