import Glibc
package import Logging
import Platform
import SQLiteStore
package import StatusCrypto
package import Store

/// The files that make a server: the identity key, the sealing keys, and the database.
package struct ServerFiles: Sendable {
    package let identityKeyFile: String
    package let sealingKeyFile: String
    package let database: DatabaseLocation

    package init(identityKeyFile: String, sealingKeyFile: String, database: DatabaseLocation) {
        self.identityKeyFile = identityKeyFile
        self.sealingKeyFile = sealingKeyFile
        self.database = database
    }

    /// Opens the files for a server, runs `body`, and closes them, also if `body` throws.
    ///
    /// The lock comes first, so that a second server does not even migrate the first server's database.
    ///
    /// - Throws: ``LostDatabaseError``, `InstanceLockError`, `KeyFileError`, ``MissingKeyError`` or ``UnusableDatabaseError`` before `body`
    ///   runs, and any error that `body` throws.
    package func withOpen(
        for use: DatabaseUse, logger: Logger, _ body: (PrivateKey, any ServerStore) async throws -> Void
    ) async throws {
        try await explaining { try await withLocked(for: use, logger: logger, body) }
    }

    /// Reads the identity key.
    ///
    /// - Parameter creates: Whether to create the key if neither it nor the database exists.
    /// - Returns: The key, or nil if its file does not exist and is not to be created.
    /// - Throws: `KeyFileError`, ``MissingKeyError`` or ``UnusableDatabaseError``.
    package func identity(creates: Bool) async throws -> PrivateKey? {
        try await explaining {
            try creates ? ServerIdentity.loadOrCreate(self, logger: nil) : KeyFile(path: identityKeyFile).load()
        }
    }

    /// Runs `body`, and turns database errors that only an operator can correct into ``UnusableDatabaseError``.
    private func explaining<Result>(_ body: () async throws -> Result) async throws -> Result {
        do {
            return try await body()
        } catch let error as StoreError where error.isConfigurationFault {
            throw UnusableDatabaseError(error, self)
        }
    }

    /// Whoever may write in a file's folder can put another file in its place.
    private func warnAboutOpenFolders(_ database: String?, _ logger: Logger) {
        let files = [identityKeyFile, sealingKeyFile] + (database.map { [$0] } ?? [])
        for folder in Set(files.map { PrivateFile.folder(of: $0) }).sorted() {
            guard let status = FileStatus(path: folder), status.permissions & 0o022 != 0 else { continue }
            logger.warning("other users may replace the server's files; run: chmod go-w \(folder)", metadata: ["folder": "\(folder)"])
        }
    }

    private func withLocked(
        for use: DatabaseUse, logger: Logger, _ body: (PrivateKey, any ServerStore) async throws -> Void
    ) async throws {
        let path: String? = if case .sqlite(let path) = database { path } else { nil }
        let mark = path.map { DatabaseMark(of: $0) }
        try mark?.checkThatDatabaseExists()
        warnAboutOpenFolders(path, logger)
        let lock = try path.map { try InstanceLock(database: $0) }
        defer { withExtendedLifetime(lock) {} }
        let identity = try ServerIdentity.loadOrCreate(self, logger: logger)
        let sealingKeys = try ServerSealing.loadOrCreate(self, logger: logger)
        let store = try database.open(for: use, of: identity.publicKey.compressed, sealingKeys: sealingKeys, logger: logger)
        mark?.write(identity: identity.publicKey.compressed, logger: logger)
        let result: Result<Void, any Error>
        do {
            try await body(identity, store)
            result = .success(())
        } catch {
            result = .failure(error)
        }
        await store.close()
        try result.get()
    }
}

/// The reason why a database cannot be used, with the next step.
package struct UnusableDatabaseError: Error, CustomStringConvertible {
    package let description: String

    package init(_ error: StoreError, _ files: ServerFiles) {
        let reason =
            switch error {
            case .notADatabase: "\(error). Move it away, or set storage.path or storage.url to another one"
            case .otherIdentity:
                "it belongs to another identity than the one in \(files.identityKeyFile), and a database never changes its identity. "
                    + "Set identity.keyFile to the key of that database, or storage.path or storage.url to another database"
            case .unknownSchema: "\(error). Start the version that wrote it, or restore a backup that this version made"
            case .sealingKeyMissing:
                "it is sealed, and the sealing key file \(files.sealingKeyFile) does not exist. Restore the file from its backup, "
                    + "or set storage.sealingKeyFile to its path"
            case .sealingKeyUnknown(let id):
                "it needs the sealing key \(id), which \(files.sealingKeyFile) does not contain. "
                    + "Add its line from the backup of the file"
            case .sealingKeyWrong(let id):
                "the sealing key \(id) in \(files.sealingKeyFile) is another one than the key that sealed it. Restore the file from its "
                    + "backup"
            case .inaccessible(let errno): "the file or its folder is not accessible: \(FileFault.text(errno))"
            default: "\(error)"
            }
        description = "database \(files.database.name): \(reason)"
    }
}
