import Bytes
import Glibc
import Logging
import SQLiteStore
import ServerFiles
import Settings
import StatusCrypto
import Store

struct ServerFiles: Sendable {
    let identity: PrivateKey
    let store: any ServerStore
    let adminToken: AdminToken

    /// Opens the files, runs `body`, and closes the files, also if `body` throws.
    ///
    /// The lock comes first, so that a second server does not even migrate the database of the first.
    ///
    /// - Throws: `InstanceLockError`, `KeyFileError`, `DatabaseError` or `AdminTokenError` before the body. Any error of the body.
    static func withOpen(_ settings: Settings, logger: Logger, _ body: (ServerFiles) async throws -> Void) async throws {
        try await DatabaseError.explaining(settings) {
            try await withLockedFiles(settings, logger: logger, body)
        }
    }

    private static func withLockedFiles(_ settings: Settings, logger: Logger, _ body: (ServerFiles) async throws -> Void) async throws {
        let lock: InstanceLock? = if case .sqlite(let path) = settings.storage { try InstanceLock(database: path) } else { nil }
        defer { withExtendedLifetime(lock) {} }
        let identity = try ServerIdentity.loadOrCreate(settings, logger: logger)
        let sealingKeys = try ServerSealing.loadOrCreate(settings, logger: logger)
        let store = try settings.openStore(of: identity.publicKey.compressed, sealingKeys: sealingKeys, logger: logger)
        let result: Result<Void, any Error>
        do {
            DatabaseBackup.removeLeftovers(besideDatabase: settings.storagePath)
            TemporaryName.removeLeftovers(beside: settings.adminTokenFile)
            let token = try AdminToken(writingTo: settings.adminTokenFile)
            try await body(ServerFiles(identity: identity, store: store, adminToken: token))
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await store.close()
        try result.get()
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
            case .notADatabase: "\(error). Move it away, or set storage.path or storage.url to another one"
            case .otherIdentity:
                "it belongs to another identity than the one in \(settings.identityKeyFile), and a database never changes its identity. "
                    + "Set identity.keyFile to the key of that database, or storage.path or storage.url to another database"
            case .unknownSchema: "\(error). Start the version that wrote it, or restore a backup that this version made"
            case .sealingKeyMissing:
                "it is sealed, and the sealing key file \(settings.sealingKeyFile) does not exist. Restore the file from its backup, "
                    + "or set storage.sealingKeyFile to its path"
            case .sealingKeyUnknown(let id):
                "it needs the sealing key \(id), which \(settings.sealingKeyFile) does not contain. "
                    + "Add its line from the backup of the file"
            case .sealingKeyWrong(let id):
                "the sealing key \(id) in \(settings.sealingKeyFile) is another one than the key that sealed it. Restore the file from its "
                    + "backup"
            case .inaccessible(let errno): unsafe "the file or its folder is not accessible: \(String(cString: strerror(errno)))"
            default: "\(error)"
            }
        description = "database \(settings.storage.name): \(reason)"
    }
}
