package import Bytes
package import Envelope
package import GRDB
package import Store

extension SQLiteStore: SharedStore, ClockStore {
    package var serverName: String { "" }

    package func reading<Result: Sendable>(_ body: @escaping @Sendable (Database) throws -> Result) async throws -> Result {
        try await read(body)
    }

    package func writing<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        try await queue.perform(body)
    }

    package func isFull(_ database: Database) throws -> Bool { try database.isFull(above: maximumStoredByteCount) }
}

extension WriteTransaction: SharedWriteTransaction {
    package var owner: Int64? { nil }

    /// Nothing to lock: the only writer holds all rows.
    package func lockOwner(_ keyHash: Digest64) {}

    package func addDeliveries(to targets: [TargetRegistration], at now: Timestamp) throws {
        for target in targets { try addDelivery(to: target, at: now) }
    }
}

extension Database: SharedTransaction {
    package func change(_ sql: String, _ values: [any SharedValue]) throws -> Int {
        try changeLater(sql, values)
        return changesCount
    }

    package func changeLater(_ sql: String, _ values: [any SharedValue]) throws {
        try step(sql, values: values.map(\.scalar)) { _ in }
    }

    package func rows<Result>(
        _ sql: String, _ values: [any SharedValue], read: (inout RowCursor) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try step(sql, values: values.map(\.scalar)) { results.append(try read(&$0)) }
        return results
    }
}

extension RowCursor: SharedRow {
    package static let dialect = SQLDialect(
        user: "user", hasPrefixes: true, proxyDeviceRow: "id",
        isUnfinished: "EXISTS (SELECT 1 FROM unfinished_message WHERE unfinished_message.message = message.id)",
        hasStatusMessageID: "status_prefix IS NOT NULL",
        openPushesByDevice: "push INDEXED BY push_by_device WHERE finished_at IS NULL",
        liveRegistrations: """
            registration JOIN query_topic ON query_topic.registration = registration.id
            LEFT JOIN registration_lists ON registration_lists.registration = registration.id
            """,
        topics: "plain, prefixed", forUpdate: "", skippingLocked: "", hasOwners: false, versionMask: 0)
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
