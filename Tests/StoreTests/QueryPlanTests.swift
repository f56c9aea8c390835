import GRDB
import GRDBSQLite
import PushProtocol
import StatusCrypto
import TestSupport
import Testing
import Wire

@testable import Store

@Suite(.safetyNet)
struct QueryPlanTests {
    @Test func `No statement of daily work steps through a whole table`() async throws {
        try await withStore { store in
            let numbers = 1...50
            for number in numbers { _ = try await store.record(number) }
            try await store.commit { transaction throws in
                for number in numbers {
                    let installation = installation(number, key: number)
                    var registration = registration(installation)
                    registration.content.deviceToken = "0123456789abcdef \(number)"
                    try transaction.register(registration, topics: topics, at: start)
                    try transaction.enqueue(push(number), message: Int64(number), at: start)
                    _ = try transaction.isRemembered(triple: hash(number), since: start)
                    _ = try transaction.storedVersion(of: installation)
                    _ = try transaction.pushTarget(installation)
                    _ = try transaction.registrations(of: hash(number))
                }
                for number in numbers.dropLast(10) {
                    try transaction.settle(Int64(number), as: .answered(reply(number, status: hash(number))), at: start)
                    _ = try transaction.earlierResponse(to: hash(number))
                    try transaction.markReplied([Int64(number)])
                }
                try transaction.unregister(installation(1, key: 1), version: 2, plaintextDigest: hash(1), at: start)
                try transaction.bury("0123456789abcdeX", type: .apn, registeredBefore: start, reason: "", route: "", at: start)
                _ = try transaction.suspicion(against: hash(1))
                try transaction.suspect(hash(1), at: start)
                try transaction.clearSuspicion(against: hash(1))
                try transaction.dropCiphertext(3)
                try transaction.release(3, to: .queued)
            }
            for number in numbers {
                try await store.saveTopicKey(FixedBytes(repeating: 1), keyHash: hash(number), prefixed: true)
                _ = try await store.topicKey(keyHash: hash(number), prefixed: true)
                _ = try await store.keyHash(ofRegistration: Int64(number))
            }
            try await store.commit { _ = try $0.finish([1], as: .sent, at: start) }
            try await store.attempt([2], until: start)
            _ = try await store.duePushes(at: start, limit: 1)
            _ = try await store.nextAttempt(route: "")
            _ = try await store.attemptedPushes(hash(2))
            _ = try await store.oldestQueuedPush()
            _ = try await store.expirePushes(route: "", acceptedBefore: start, limit: 1, at: start)
            _ = try await store.undecided(limit: 1)
            _ = try await store.unreplied(limit: 1)
            _ = try await store.prune(at: start)

            try await store.pool.writeWithoutTransaction { try expectNoFullScan($0, minimumStatementCount: 20) }
            try await store.read { try expectNoFullScan($0, minimumStatementCount: 5) }
        }
    }

    /// Asks SQLite about each statement that the connection has prepared (https://www.sqlite.org/c3ref/c_stmtstatus_counter.html).
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
