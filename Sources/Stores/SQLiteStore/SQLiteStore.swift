package import Bytes
import Dispatch
import GRDB
package import Logging
import PushProtocol
package import ServerCrypto
import StatusCrypto
package import Store
import Synchronization

/// A store in one SQLite file.
///
/// The database is in WAL mode with `synchronous=FULL`: a write survives a power cut once its function has returned. One connection writes,
/// through one queue with group commit. Other connections read at the same time.
package final class SQLiteStore: PushStore {
    let pool: DatabasePool
    let queue: WriteQueue
    private let file: OpenedFile
    package let outbox: OutboxMemory
    package let sealing: RowSealing
    package let userKeys = UserKeyCache()
    /// The size in bytes above which the store rejects new devices of gateways. Nil means that only the disk limits it.
    let maximumStoredByteCount: Int?
    /// The checkpointer, or nil when the store is read-only.
    private let checkpointer: WALCheckpointer?
    package let damagedRows: DamagedRows
    let logger: Logger

    /// Opens the database, creates it if it does not exist, and migrates its tables.
    ///
    /// It blocks its thread on the disk, so call it at the start of a program and not from a task.
    ///
    /// - Parameters:
    ///   - identity: The server's compressed public key. The store refuses the database of another key.
    ///   - sealingKeys: The keys that seal secrets, or nil for a store without access to them, which reads only or copies rows.
    ///   - readOnly: Whether a tool reads while a server runs. The store then neither creates nor migrates a database.
    ///   - isCopy: Whether the rows of another store follow, with its sealing keys (``complete(_:)``).
    ///   - random: The source of a new database's secrets.
    ///   - maximumQueueCount: The number of pushes to known bundle ids that may wait for a route.
    ///   - maximumStoredByteCount: The size in bytes above which the store rejects new devices of gateways. Nil means that only the disk
    ///     limits it.
    ///   - namedBundleIDs: The bundle ids that a setting names. They count as known before their first delivery.
    /// - Throws: `StoreError` if the database cannot be opened, or belongs to another key or program, or if the sealing keys are not those
    ///   that sealed it.
    package init(
        path: String, identity: FixedBytes<33>, sealingKeys: SealingKeys?, readOnly: Bool = false, isCopy: Bool = false,
        random: any RandomNumberGenerator = SecureRandom(),
        maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount, maximumStoredByteCount: Int? = nil,
        namedBundleIDs: Set<String> = [],
        logger: Logger
    ) throws(StoreError) {
        var random = random
        let schema = Schema(identity: identity)
        try readOnly ? DatabaseFile.find(path: path) : DatabaseFile.prepare(path: path)
        do {
            var configuration = Configuration()
            configuration.readonly = readOnly
            configuration.label = "store"
            configuration.busyMode = .timeout(Self.busyTimeoutSeconds)
            configuration.prepareDatabase { try schema.check($0) }
            pool = try DatabasePool(path: path, configuration: configuration)
            file = OpenedFile(path)
            guard readOnly || isCopy || sealingKeys != nil else { throw StoreError.sealingKeyMissing }
            if !readOnly {
                // `prepareDatabase` is too early: after it GRDB switches the writer to WAL and sets `synchronous` to NORMAL.
                try pool.writeWithoutTransaction { database in
                    try database.execute(sql: Self.writerSettings)
                    try Self.emptyLog(database)
                }
                if try pool.write({ try schema.createTables($0) }) {
                    logger.notice("created the database", metadata: ["database": "\(path)"])
                }
                try Self.migrate(pool, schema.migrator, path: path, logger: logger)
                if let sealingKeys {
                    let secret: FixedBytes<32> = random.fixedBytes()
                    let isRotating = try pool.write { database in
                        try database.startSealing(
                            of: identity, with: sealingKeys, newSecret: secret, first: ResealingStep.first, done: ResealingStep.done)
                    }
                    if isRotating {
                        logger.notice(
                            "rotating the sealing key; re-sealing the database", metadata: ["newKey": "\(sealingKeys.newest)"])
                    }
                }
                Compaction.runIfNeeded(pool, logger: logger)
            }
            checkpointer = try readOnly ? nil : WALCheckpointer(path: path, busyMode: configuration.busyMode, logger: logger)
            // The read uses the writer: only the writer deletes the WAL, and only if it is closed last.
            let secrets =
                try isCopy
                ? .locked
                : pool.writeWithoutTransaction { try $0.secrets(identity: identity, keys: sealingKeys, isReadOnly: readOnly) }
            sealing = secrets.sealing
            damagedRows = DamagedRows(logger: logger)
            outbox = OutboxMemory(maximumQueueCount: maximumQueueCount, namedBundleIDs: namedBundleIDs)
            queue = WriteQueue(
                pool: pool, file: file, secrets: secrets, damagedRows: damagedRows, outbox: outbox, checkpointer: checkpointer)
        } catch {
            throw StoreError(error)
        }
        self.maximumStoredByteCount = maximumStoredByteCount
        self.logger = logger
        logger.debug("opened the database", metadata: ["store.path": "\(path)", "store.read_only": "\(readOnly)"])
    }

    /// Opens the database of any identity for reading only, for tools while a server runs.
    ///
    /// - Parameter sealingKeys: The keys of the sealed values to be read. Without them the sealed values of a sealed database are locked.
    package convenience init(readingAt path: String, sealingKeys: SealingKeys? = nil, logger: Logger) throws(StoreError) {
        try self.init(
            path: path, identity: try Self.owner(ofDatabaseAt: path), sealingKeys: sealingKeys, readOnly: true, logger: logger)
    }

    /// Opens the database of any identity for a tool that changes it and holds the ``InstanceLock``.
    package convenience init(changingAt path: String, sealingKeys: SealingKeys?, logger: Logger) throws(StoreError) {
        try self.init(path: path, identity: try Self.owner(ofDatabaseAt: path), sealingKeys: sealingKeys, logger: logger)
    }

    private static func migrate(_ pool: DatabasePool, _ migrator: DatabaseMigrator, path: String, logger: Logger) throws {
        let applied = try pool.writeWithoutTransaction { try migrator.appliedMigrations($0) }
        let pending = migrator.migrations.filter { !applied.contains($0) }
        guard !pending.isEmpty else { return }
        let metadata: Logger.Metadata = ["database": "\(path)", "migrations": "\(pending.joined(separator: ", "))"]
        logger.notice("migrating the database", metadata: metadata)
        try migrator.migrate(pool)
        logger.notice("migrated the database", metadata: metadata)
    }

    private static func owner(ofDatabaseAt path: String) throws(StoreError) -> FixedBytes<33> {
        guard let owner = try identity(ofDatabaseAt: path) else { throw .notSetUp }
        return owner
    }

    /// Copies the WAL into the database at the start. The last writes of a killed process may not be on the disk yet. A later sync that
    /// fails would lose them and all later writes in the WAL.
    private static func emptyLog(_ database: Database) throws {
        do {
            try database.checkpoint(.passive)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Another process runs a WAL checkpoint.
        }
    }

    package var cluster: (any ClusterStore)? { nil }

    package func checkFile() throws(StoreError) { try file.check() }

    package func probe() async throws {
        _ = try await queue.perform {
            // The value must differ each time: SQLite writes no page without changes.
            try $0.database.run("INSERT INTO probe (id, count) VALUES (1, 1) ON CONFLICT DO UPDATE SET count = count + 1")
        }
    }

    /// The number of transactions since the database was opened. Divided by the number of calls it shows the effect of group commit.
    package var commitCount: Int { queue.commitCount }

    /// Completes the writes that wait, copies the WAL into the database and closes it.
    package func close() async {
        guard queue.close() else { return }
        await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { [checkpointer, logger] database in
                do {
                    try checkpointer?.close()
                    if !database.configuration.readonly { try database.checkpoint(.truncate) }
                } catch {
                    // A reader in another process prevents it. The WAL stays complete, and the next start copies it.
                    logger.info("WAL checkpoint failed; retrying at the next start", metadata: ["error": "\(StoreError(error))"])
                }
                continuation.resume()
            }
        }
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { [pool, logger] in
                do { try pool.close() } catch { logger.warning("closing the database failed", metadata: ["error": "\(StoreError(error))"]) }
                continuation.resume()
            }
        }
    }

    /// Reads from one state of the database, on a connection that does not wait for the writer.
    func read<Result: Sendable>(_ body: @Sendable (Database) throws -> Result) async throws -> Result {
        do {
            return try await pool.read(body)
        } catch let error as DatabaseError {
            throw StoreError(error)
        }
    }

    /// How long a connection waits for another process's lock, such as a tool's WAL checkpoint or backup.
    static let busyTimeoutSeconds = 2.0

    private static let writerSettings = """
        PRAGMA synchronous = FULL;          -- fsync at each commit: an old version must not come back after a power cut
        PRAGMA secure_delete = FAST;        -- what is blanked is overwritten where that costs no further page
        PRAGMA cache_size = -65536;         -- KiB: the upper levels of the indexes of millions of registrations
        PRAGMA temp_store = MEMORY;         -- statement journals, of a few pages
        PRAGMA wal_autocheckpoint = 0;      -- the WALCheckpointer does it
        PRAGMA journal_size_limit = 67108864;
        """
}
