package import Bytes
package import GRDB
package import Store

extension SQLiteStore: SharedStore, ClockStore {
    package var serverName: String { "" }
    package var owner: Int64? { nil }

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
    package func lockRoutes() {}
}

extension RowCursor {
    package static let dialect = SQLDialect(
        user: "user", hasPrefixes: true, proxyDeviceRow: "id",
        isUnfinished: "EXISTS (SELECT 1 FROM unfinished_message WHERE unfinished_message.message = message.id)",
        hasStatusMessageID: "status_prefix IS NOT NULL",
        isWaiting: "push.finished_at IS NULL", isOfDevice: "push.finished_at IS NULL",
        isUncertain: "push.finished_at IS NULL AND push.state = 7",
        // Without the `+`, SQLite would substitute the key hash for the column in substr() and not use the index.
        isOpenOfTarget: """
            substr(key_hash, 1, 8) = substr($1, 1, 8) AND installation_id = $2 AND push.finished_at IS NULL AND +key_hash = $1
            """,
        liveRegistrations: """
            registration JOIN query_topic ON query_topic.registration = registration.id
            LEFT JOIN registration_lists ON registration_lists.registration = registration.id
            """,
        topics: "plain, prefixed", forUpdate: "", skippingLocked: "", hasOwners: false,
        livingServers: "SELECT '' AS name", isOpenRow: "finished_at IS NULL",
        firstPosition: "0", needsCompaction: true)
}
