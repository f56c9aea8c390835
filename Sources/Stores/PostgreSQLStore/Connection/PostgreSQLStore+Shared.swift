package import Bytes
package import Envelope
package import PushProtocol
package import Store

extension PostgreSQLStore: SharedStore, ClockStore {
    package var serverName: String { member.name }
    package var owner: Int64? { number }

    package func reading<Result: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Result) async throws -> Result {
        try await read(body)
    }

    package func writing<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        try await write(body)
    }

    package func isFull(_ database: Transaction) throws -> Bool {
        guard let maximumStoredByteCount else { return false }
        return try size.exceeds(maximumStoredByteCount, database)
    }
}

extension WriteTransaction: SharedWriteTransaction {
    package var owner: Int64? { server }

    package func lockOwner(_ keyHash: Digest64) {
        for command in Command.lockOwners([keyHash], adding: []) { database.add(command) }
    }

    /// The advisory lock that transactions share which read the routes. A lock of the table would wait for a backup.
    package func lockRoutes() { database.add("SELECT pg_advisory_xact_lock_shared(\(Self.routesLock))") }

    static let routesLock = 71

    package func register(
        _ registration: Registration, replacing stored: StoredInstallation?, topics: QueryTopics, at now: Timestamp
    ) throws -> Int64 {
        try register([(registration, topics)], at: now)[0]
    }
}

extension RowCursor {
    package static let dialect = SQLDialect(
        user: "user_name", hasPrefixes: false, proxyDeviceRow: "identifier", isUnfinished: "is_unfinished",
        hasStatusMessageID: "status_message_id IS NOT NULL", isWaiting: OpenPushes.waiting,
        isOfDevice: OpenPushes.ofDevice, isUncertain: OpenPushes.uncertain,
        isOpenOfTarget: "key_hash = $1 AND installation_id = $2 AND \(OpenPushes.ofTarget)",
        liveRegistrations: "registration",
        topics: "plain_topic, prefixed_topic",
        forUpdate: "FOR UPDATE", skippingLocked: "FOR UPDATE SKIP LOCKED", hasOwners: true,
        livingServers: "SELECT name FROM server WHERE NOT is_fenced AND lease_ends > now()", isOpenRow: OpenPushes.byRow,
        firstPosition: "''", needsCompaction: false)
}
