package import Bytes
package import Logging
import PostgreSQLStore
import SQLiteStore
package import ServerCrypto
package import Store
package import Transport

/// The database as a server's parts use it.
package typealias ServerStore = PushStore & CheckpointKeeper & ClockStore & ProxyStore & OriginStore
/// The database as an operator's commands use it.
package typealias OperatorStore = PushStore & CopyableStore

extension SQLiteStore: CheckpointKeeper {}
extension PostgreSQLStore: CheckpointKeeper {}

/// What a server tells its database about itself.
package struct DatabaseUse: Sendable {
    /// The name, which distinguishes this server from others on the same database.
    package var serverName: String
    /// Where ``ServerPart`` keeps the text that tells this machine from a clone.
    package var serverPartFile: String
    package var version: String
    package var maximumQueueCount: Int
    /// How large the database may be before new installations are refused, or nil for no limit.
    package var maximumStoredByteCount: Int?
    package var namedBundleIDs: Set<String>

    package init(
        serverName: String, serverPartFile: String, version: String, maximumQueueCount: Int, maximumStoredByteCount: Int?,
        namedBundleIDs: Set<String>
    ) {
        self.serverName = serverName
        self.serverPartFile = serverPartFile
        self.version = version
        self.maximumQueueCount = maximumQueueCount
        self.maximumStoredByteCount = maximumStoredByteCount
        self.namedBundleIDs = namedBundleIDs
    }
}

// All ways to open a server's database.
extension DatabaseLocation {
    /// Opens the database for a server. If it is a file, the server must hold its lock.
    package func open(
        for use: DatabaseUse, of identity: FixedBytes<33>, sealingKeys: SealingKeys?, logger: Logger
    ) throws(StoreError) -> any ServerStore {
        switch self {
        case .sqlite(let path):
            return try SQLiteStore(
                path: path, identity: identity, sealingKeys: sealingKeys, maximumQueueCount: use.maximumQueueCount,
                maximumStoredByteCount: use.maximumStoredByteCount, namedBundleIDs: use.namedBundleIDs, logger: logger)
        case .postgresql:
            return try PostgreSQLStore(
                connection(named: "pushserver \(use.serverName)"), identity: identity, sealingKeys: sealingKeys,
                serverName: use.serverName, serverPart: ServerPart.loadOrCreate(use.serverPartFile, logger: logger), version: use.version,
                maximumQueueCount: use.maximumQueueCount,
                maximumStoredByteCount: use.maximumStoredByteCount, namedBundleIDs: use.namedBundleIDs, logger: logger)
        }
    }

    /// Opens the database of any identity for a command that only reads. Servers may be running.
    package func openForReading(sealingKeys: SealingKeys?, logger: Logger) throws(StoreError) -> any OperatorStore {
        switch self {
        case .sqlite(let path): try SQLiteStore(readingAt: path, sealingKeys: sealingKeys, logger: logger)
        case .postgresql: try PostgreSQLStore(existing: commandConnection, sealingKeys: sealingKeys, logger: logger)
        }
    }

    /// Opens the database of any identity for a command that changes it, and has made sure that no server uses it.
    package func openForChange(sealingKeys: SealingKeys?, logger: Logger) throws(StoreError) -> any OperatorStore {
        switch self {
        case .sqlite(let path): try SQLiteStore(changingAt: path, sealingKeys: sealingKeys, logger: logger)
        case .postgresql: try openForReading(sealingKeys: sealingKeys, logger: logger)
        }
    }

    /// Lifts the mark on a moved database.
    ///
    /// - Returns: The place to which it was moved, or nil without a mark.
    package func liftMark() throws(StoreError) -> String? {
        switch self {
        case .sqlite(let path): try SQLiteStore.liftMark(ofDatabaseAt: path)
        case .postgresql: try PostgreSQLStore.liftMark(of: commandConnection)
        }
    }

    /// Reads the identity that the database belongs to, without creating or changing the database.
    ///
    /// - Returns: The compressed public key, or nil if the database or its tables do not exist yet.
    package func owner() throws(StoreError) -> FixedBytes<33>? {
        switch self {
        case .sqlite(let path): try SQLiteStore.identity(ofDatabaseAt: path)
        case .postgresql: try PostgreSQLStore.identity(of: connection(named: "pushserver"))
        }
    }

    /// Returns the problems that leave the database usable, in words for an operator.
    package func warnings() throws(StoreError) -> [String] {
        guard case .postgresql = self, try PostgreSQLStore.logsValues(connection(named: "pushserver")) else { return [] }
        return ["PostgreSQL logs the values of statements, which name clients: set log_parameter_max_length to 0 (docs/SCALE.md)"]
    }

    /// The parameters for a command's connection to PostgreSQL, which must answer soon.
    package var commandConnection: [String: String] {
        guard case .postgresql(let location, let password) = self else { return [:] }
        return location.connection(
            password: password, name: PostgreSQLLocation.commandName, timeoutSeconds: PostgreSQLLocation.commandTimeoutSeconds)
    }

    /// The parameters for a server's connection to PostgreSQL.
    ///
    /// - Parameter name: The name that PostgreSQL shows for the connection.
    private func connection(named name: String) -> [String: String] {
        guard case .postgresql(let location, let password) = self else { return [:] }
        return location.connection(password: password, name: name)
    }
}
