import Bytes
import GRDBSQLite
import Store
import TestSupport
import Testing

@testable import SQLiteStore

/// The passing of values to statements and from rows, which is complete or fails.
@Suite(.safetyNet)
struct StatementTests {
    @Test(arguments: ["SELECT ?", "SELECT ?, ?, ?", "SELECT ?1, ?3"])
    func `a statement with another number of values than parameters throws`(sql: String) async throws {
        try await withSQLiteStore { store in
            await #expect(throws: StoreError(code: SQLITE_RANGE)) {
                try await store.read { try $0.forEach(sql, 1, 2) { _ in } }
            }
            let row = try await store.read { try $0.first("SELECT ?, ?", 1, 2) { (try $0.next(Int.self), try $0.next(Int.self)) } }
            #expect(row ?? (0, 0) == (1, 2))
        }
    }

    @Test func `reading another number of columns than a row has throws`() async throws {
        try await withSQLiteStore { store in
            await #expect(throws: StoreError(code: SQLITE_RANGE)) {
                try await store.read { try $0.all("SELECT 1, 2, 3") { (try $0.next(Int.self), try $0.next(Int.self)) } }
            }
            await #expect(throws: StoreError(code: SQLITE_RANGE)) {
                try await store.read { try $0.first("SELECT 1") { (try $0.next(Int.self), try $0.next(Int.self)) } }
            }
        }
    }

    @Test func `a stored value of another type is reported as damaged`() async throws {
        try await withSQLiteStore { store in
            func read<Value: SQLValue & SendableMetatype & Sendable>(_ sql: String, as type: Value.Type) async throws {
                _ = try await store.read { try $0.first("SELECT \(sql)") { try $0.next(type) } }
            }
            await #expect(throws: StoreError.damaged) { try await read("x'0102'", as: FixedBytes<3>.self) }
            await #expect(throws: StoreError.damaged) { try await read("NULL", as: FixedBytes<3>.self) }
            await #expect(throws: StoreError.damaged) { try await read("99", as: PushOutcome.self) }
            await #expect(throws: StoreError.damaged) { try await read("-1", as: UInt32.self) }
            try await read("NULL", as: FixedBytes<3>?.self)
            try await read("x'010203'", as: FixedBytes<3>?.self)
            try await read("x'010203'", as: FixedBytes<3>.self)
            try await read("\(PushOutcome.sent.rawValue)", as: PushOutcome.self)
            try await read("1", as: UInt32.self)
        }
    }
}
