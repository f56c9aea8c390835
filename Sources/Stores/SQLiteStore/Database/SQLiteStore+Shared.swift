package import GRDB
import GRDBSQLite
import Store
package import StoreSQL

extension SQLiteStore: SharedStore {
    package func reading<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await read(body)
    }

    package func writing<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        try await queue.perform(body)
    }
}

extension WriteTransaction: SharedWriteTransaction {}
extension RowCursor: SharedRow {}

extension Database: SharedTransaction {
    package static let dialect = SQLDialect(
        user: "user", isPush: "deduplication_prefix = $2 AND deduplication_key = $1",
        isUnfinished: "EXISTS (SELECT 1 FROM unfinished_message WHERE unfinished_message.message = message.id)",
        hasStatusMessageID: "status_prefix IS NOT NULL")

    package func change(_ sql: String, _ values: any SharedValue...) throws -> Int {
        guard unsafe sqlite3_get_autocommit(sqliteConnection) == 0 else { throw StoreError(code: SQLITE_ABORT) }
        try step(Self.numbered(sql), values: values.map(\.scalar)) { _ in }
        return unsafe Int(sqlite3_changes(sqliteConnection))
    }

    package func changeLater(_ sql: String, _ values: any SharedValue...) throws {
        guard unsafe sqlite3_get_autocommit(sqliteConnection) == 0 else { throw StoreError(code: SQLITE_ABORT) }
        try step(Self.numbered(sql), values: values.map(\.scalar)) { _ in }
    }

    package func rows<Result>(
        _ sql: String, _ values: [any SharedValue], read: (inout RowCursor) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try step(Self.numbered(sql), values: values.map(\.scalar)) { results.append(try read(&$0)) }
        return results
    }

    /// SQLite numbers `?1`, while `$1` would be a name and get the number of its first occurrence.
    private static func numbered(_ sql: String) -> String { sql.replacing("$", with: "?") }
}

extension SQLScalar {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) {
        switch self {
        case .null: try statement.bindNull(at: index)
        case .integer(let value): try statement.bind(value, at: index)
        case .bool(let value): try statement.bind(value ? 1 : 0, at: index)
        case .text(let value): try statement.bind(text: value, at: index)
        case .bytes(let value): try statement.bind(blob: value.span, at: index)
        }
    }
}
