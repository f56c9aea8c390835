import Backup
import Delivery
import Glibc
import Logging
import NextcloudOrigin
import NextcloudProxy
import PushProtocol
import SQLiteStore
import Settings
import StatusCrypto
import Store
import Transport

/// The files of a server.
struct ServerFiles: Sendable {
    let identity: PrivateKey
    let store: any PushStore & CheckpointKeeper & ProxyStore & OriginStore
    let adminToken: AdminToken

    /// Opens the files, runs `body`, and closes the files, also if `body` throws.
    ///
    /// The lock comes first, so that a second server does not even migrate the database of the first.
    ///
    /// - Throws: `InstanceLockError`, `KeyFileError`, `DatabaseError` or `AdminTokenError` before the body; any error of the body.
    static func withOpen(_ settings: Settings, logger: Logger, _ body: (ServerFiles) async throws -> Void) async throws {
        try await DatabaseError.explaining(settings) {
            try await withLockedFiles(settings, logger: logger, body)
        }
    }

    private static func withLockedFiles(_ settings: Settings, logger: Logger, _ body: (ServerFiles) async throws -> Void) async throws {
        let lock = try InstanceLock(database: settings.storagePath)
        defer { withExtendedLifetime(lock) {} }
        let identity = try ServerIdentity.loadOrCreate(settings, logger: logger)
        let sealingKeys = try ServerSealing.loadOrCreate(settings, logger: logger)
        let maximumQueueCount = settings.delivery?.maximumQueuedPushCount ?? ProtocolLimits.maximumQueuedPushCount
        try await SQLiteStore.withOpen(
            path: settings.storagePath, identity: identity.publicKey.compressed, sealingKeys: sealingKeys,
            maximumQueueCount: maximumQueueCount, maximumStoredByteCount: settings.registrationPolicy.maximumStoredByteCount,
            namedBundleIDs: settings.delivery?.knownBundleIDs ?? [], logger: logger
        ) { store in
            DatabaseBackup.removeLeftovers(besideDatabase: settings.storagePath)
            TemporaryName.removeLeftovers(beside: settings.adminTokenFile)
            let token = try AdminToken(writingTo: settings.adminTokenFile)
            try await body(ServerFiles(identity: identity, store: store, adminToken: token))
        }
    }
}

/// The reason why a database cannot be used, with the next step.
struct DatabaseError: Error, CustomStringConvertible {
    let description: String

    /// Runs the body, and turns errors of the database that only an operator can correct into a `DatabaseError`.
    static func explaining<Result>(_ settings: Settings, _ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as StoreError where error.isConfigurationFault {
            throw DatabaseError(error, settings)
        }
    }

    init(_ error: StoreError, _ settings: Settings) {
        let reason =
            switch error {
            case .notADatabase: "\(error). Move it away, or name another path with storage.path"
            case .otherIdentity:
                "it belongs to another identity than the one in \(settings.identityKeyFile), and a database never changes its identity. "
                    + "Name its own key file with identity.keyFile, or another database with storage.path"
            case .unknownSchema: "\(error). Start the version that wrote it, or bring back a backup of this one's time"
            case .sealingKeyMissing:
                "it is sealed, and the sealing key file \(settings.sealingKeyFile) does not exist. Restore the file from its backup, or name "
                    + "it with storage.sealingKeyFile"
            case .sealingKeyUnknown(let id):
                "it needs the sealing key \(id), which \(settings.sealingKeyFile) does not contain. Add its line from the backup of the file"
            case .sealingKeyWrong(let id):
                "the sealing key \(id) in \(settings.sealingKeyFile) is another one than the key that sealed it. Restore the file from its "
                    + "backup"
            case .inaccessible(let errno): unsafe "the file or its folder is not accessible: \(String(cString: strerror(errno)))"
            default: "\(error)"
            }
        description = "database \(settings.storagePath): \(reason)"
    }
}

extension SQLiteStore {
    /// Opens the store for the body.
    fileprivate static func withOpen(
        path: String, identity: FixedBytes<33>, sealingKeys: SealingKeys?, maximumQueueCount: Int, maximumStoredByteCount: Int?,
        namedBundleIDs: Set<String>, logger: Logger,
        _ body: (SQLiteStore) async throws -> Void
    ) async throws {
        let store = try SQLiteStore(
            path: path, identity: identity, sealingKeys: sealingKeys, maximumQueueCount: maximumQueueCount,
            maximumStoredByteCount: maximumStoredByteCount, namedBundleIDs: namedBundleIDs, logger: logger)
        let failure: (any Error)?
        do {
            try await body(store)
            failure = nil
        } catch {
            failure = error
        }
        await store.close()
        if let failure { throw failure }
    }
}

extension SQLiteStore: CheckpointKeeper {}
