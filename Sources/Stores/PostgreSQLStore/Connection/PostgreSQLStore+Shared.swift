import Store
package import StoreSQL

extension PostgreSQLStore: SharedStore {
    package func reading<Result: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Result) async throws -> Result {
        try await read(body)
    }

    package func writing<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        try await write(body)
    }
}

extension WriteTransaction: SharedWriteTransaction {}
extension RowCursor: SharedRow {}

extension Transaction: SharedTransaction {
    package static let dialect = SQLDialect(
        user: "user_name", isPush: "deduplication_key = $1", isUnfinished: "is_unfinished",
        hasStatusMessageID: "status_message_id IS NOT NULL")

    package func change(_ sql: String, _ values: any SharedValue...) throws -> Int {
        try fetch([Command(sql, shared: values)])[0].changedCount
    }

    package func changeLater(_ sql: String, _ values: any SharedValue...) { add(Command(sql, shared: values)) }

    package func rows<Result>(
        _ sql: String, _ values: [any SharedValue], read: (inout RowCursor) throws -> Result
    ) throws -> [Result] {
        try fetch([Command(sql, shared: values)])[0].map(read)
    }
}
