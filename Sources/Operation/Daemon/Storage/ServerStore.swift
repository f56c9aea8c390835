import Bytes
import Delivery
import Logging
import NextcloudOrigin
import NextcloudProxy
import Observation
import PostgreSQLStore
import PushProtocol
import SQLiteStore
import ServerCrypto
import ServerFiles
import Settings
import StatusCrypto
import Store
import Transport

/// The database as all parts of a server use it.
typealias ServerStore = PushStore & CheckpointKeeper & ProxyStore & OriginStore

extension SQLiteStore: CheckpointKeeper {}
extension PostgreSQLStore: CheckpointKeeper {}

extension StorageSettings {
    /// Reads the identity that the database belongs to, without creating or changing the database.
    ///
    /// - Returns: The compressed public key; nil if the database does not exist or has no tables yet.
    func owner() throws(StoreError) -> FixedBytes<33>? {
        switch self {
        case .sqlite(let path): try SQLiteStore.identity(ofDatabaseAt: path)
        case .postgresql(let location, let password):
            try PostgreSQLStore.identity(of: location.connection(password: password, name: "pushserver"))
        }
    }

    /// Returns the problems that leave the database usable, in words for an operator.
    func warnings() throws(StoreError) -> [String] {
        guard case .postgresql(let location, let password) = self,
            try PostgreSQLStore.logsValues(location.connection(password: password, name: "pushserver"))
        else { return [] }
        return ["PostgreSQL logs the values of statements, such as device tokens: set log_parameter_max_length to 0 (docs/SCALE.md)"]
    }
}

extension Settings {
    /// Opens the database for a server.
    func openStore(of identity: FixedBytes<33>, sealingKeys: SealingKeys?, logger: Logger) throws(StoreError) -> any ServerStore {
        let maximumQueueCount = delivery?.maximumQueuedPushCount ?? ProtocolLimits.maximumQueuedPushCount
        let namedBundleIDs = delivery?.knownBundleIDs ?? []
        switch storage {
        case .sqlite(let path):
            return try SQLiteStore(
                path: path, identity: identity, sealingKeys: sealingKeys, maximumQueueCount: maximumQueueCount,
                maximumStoredByteCount: registrationPolicy.maximumStoredByteCount, namedBundleIDs: namedBundleIDs, logger: logger)
        case .postgresql(let location, let password):
            return try PostgreSQLStore(
                location.connection(password: password, name: "pushserver \(serverName)"), identity: identity, sealingKeys: sealingKeys,
                serverName: serverName, version: BuildInfo.version, maximumQueueCount: maximumQueueCount,
                maximumStoredByteCount: registrationPolicy.maximumStoredByteCount, namedBundleIDs: namedBundleIDs, logger: logger)
        }
    }
}
