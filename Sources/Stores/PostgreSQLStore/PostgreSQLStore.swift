package import Bytes
import Envelope
package import Logging
import PushProtocol
package import ServerCrypto
import StatusCrypto
package import Store
import Synchronization

/// A store in a PostgreSQL database.
///
/// A write survives a power cut once its function has returned, if the database has `synchronous_commit=on`.
package final class PostgreSQLStore: PushStore {
    let pool: ConnectionPool
    package let outbox: OutboxMemory
    let secrets: DatabaseSecrets
    package let userKeys = UserKeyCache()
    let size: DatabaseSize
    let member: Member
    let membership: Mutex<Membership>
    /// The work that this server has taken over and that no caller knows of yet.
    let taken = Mutex(TakenWork())
    package let damagedRows: DamagedRows
    let logger: Logger
    /// The clock of this server's lease.
    let time: SteadyTime
    /// The time at which the session that holds a locked row was last looked for.
    let holderLookup = Mutex<Duration?>(nil)
    /// The owners whose rows another session held when they were last looked for.
    let knownHeldOwners = Mutex(Set<Digest64>())
    private let metrics = StoreMetrics()
    /// What the database's clock showed at the last renewal of the lease, at a time of ``time``.
    let clockReading = Mutex<(time: Timestamp, at: Duration)?>(nil)
    /// The size in bytes above which the store rejects new devices of gateways; nil means no limit.
    let maximumStoredByteCount: Int?

    /// One connection records messages while another decides about them, two serve the deliveries and gateways, and one keeps the lease.
    private static let connectionCount = 5

    /// Connects to the database and creates its tables if there are none.
    ///
    /// It blocks its thread, so call it at the start of a program and not from a task.
    ///
    /// - Parameters:
    ///   - parameters: Keywords of libpq and their values (https://www.postgresql.org/docs/15/libpq-connect.html#LIBPQ-PARAMKEYWORDS).
    ///   - identity: The server's compressed public key. The store refuses the database of another key.
    ///   - sealingKeys: The keys that seal secrets. All servers of a database need the same keys: a server that was started without the
    ///     newest one goes on writing with an older key.
    ///   - serverName: The name of this server among those that share the database. A server that starts fences an earlier one of its name.
    ///   - serverPart: A random text that the machine keeps, so that a server of another machine with the same name is not taken for an
    ///     earlier one; empty without a folder to keep it in.
    ///   - version: The version of the program, for operators.
    ///   - random: The source of the secrets of a new database.
    ///   - maximumQueueCount: The number of pushes to known bundle ids that may wait for a route.
    ///   - maximumStoredByteCount: The size in bytes above which the store rejects new devices of gateways; nil means no limit.
    ///   - namedBundleIDs: The bundle ids that a setting names. They count as known before their first delivery.
    ///   - clock: The clock of this server's lease.
    /// - Throws: `StoreError` if the database is unreachable, or belongs to another key or version, or if the sealing keys are not those
    ///   that sealed it.
    package init(
        _ parameters: [String: String], identity: FixedBytes<33>, sealingKeys: SealingKeys?, serverName: String,
        serverPart: String = "", version: String = "", random: any RandomNumberGenerator = SecureRandom(),
        maximumQueueCount: Int = ProtocolLimits.maximumQueuedPushCount, maximumStoredByteCount: Int? = nil,
        namedBundleIDs: Set<String> = [], clock: any Clock<Duration> = ContinuousClock(), logger: Logger
    ) throws(StoreError) {
        var random = random
        let newSecret: FixedBytes<32> = random.fixedBytes()
        let notices = NoticeLog(logger)
        let slot = ConnectionSlot(parameters, notices: notices)
        let member = Member(name: serverName, part: serverPart, version: version)
        let time = SteadyTime(clock: clock, start: Timestamp(nanoseconds: 0))
        let start = time.elapsed()
        do {
            try Pooling.check(parameters)
            try OperatorLock.createTable(slot)
            let (secrets, number) = try slot.perform(.writing) { database in
                try Schema.prepare(database, identity: identity) { try Connection(parameters) }
                for table in try RowNumbers.raise(database) {
                    logger.warning("raised the sequence of a table, as after a logical copy", metadata: ["table": "\(table)"])
                }
                guard let sealingKeys else { throw StoreError.sealingKeyMissing }
                let isRotating = try database.startSealing(
                    of: identity, with: sealingKeys, newSecret: newSecret, first: ResealingStep.first, done: ResealingStep.done)
                if isRotating {
                    logger.notice(
                        "rotating the sealing key; re-sealing the database", metadata: ["newKey": "\(sealingKeys.newest)"])
                }
                return (try database.secrets(identity: identity, keys: sealingKeys, isReadOnly: false), try member.join(database))
            }
            self.secrets = secrets
            membership = Mutex(Membership(number: number, at: start))
        } catch {
            throw StoreError(error)
        }
        outbox = OutboxMemory(maximumQueueCount: maximumQueueCount, namedBundleIDs: namedBundleIDs)
        size = DatabaseSize()
        self.logger = logger
        damagedRows = DamagedRows(logger: logger)
        (self.member, self.time) = (member, time)
        self.maximumStoredByteCount = maximumStoredByteCount
        pool = ConnectionPool(
            parameters, connectionCount: Self.connectionCount, limitsLocks: true, notices: notices,
            newestMark: NewestMark(serverName: serverName, time: time))
        logger.info("joined the servers of the database", metadata: ["name": "\(serverName)"])
    }

    /// Opens an existing database for a tool, which is no member of the cluster and owns nothing.
    ///
    /// - Parameter sealingKeys: The keys that seal secrets; nil leaves the secrets locked.
    /// - Throws: `StoreError` if the database is unreachable, or no server has created its tables.
    package init(existing parameters: [String: String], sealingKeys: SealingKeys?, logger: Logger) throws(StoreError) {
        let slot = ConnectionSlot(parameters)
        do {
            secrets = try slot.perform(.reading) { database in
                let identity = try Schema.identityOfCurrentTables(database)
                return try database.secrets(identity: identity, keys: sealingKeys, isReadOnly: sealingKeys == nil)
            }
        } catch {
            throw StoreError(error)
        }
        membership = Mutex(Membership(number: 0, at: .zero))
        outbox = OutboxMemory(maximumQueueCount: ProtocolLimits.maximumQueuedPushCount, namedBundleIDs: [])
        size = DatabaseSize()
        self.logger = logger
        damagedRows = DamagedRows(logger: logger)
        (member, time) = (Member(name: "", part: "", version: ""), SteadyTime(clock: ContinuousClock(), start: Timestamp(nanoseconds: 0)))
        maximumStoredByteCount = nil
        pool = ConnectionPool(parameters, connectionCount: 1)
    }

    /// Opens a database for the rows of another store. It has no identity until ``complete(_:)``, so that no server uses it.
    ///
    /// - Throws: `StoreError` if the database is unreachable, or belongs to an identity.
    package init(copyingTo parameters: [String: String], logger: Logger) throws(StoreError) {
        let member = Member(name: "migrate-store", part: "", version: "")
        do {
            let number = try ConnectionSlot(parameters).perform(.writing) { database in
                try Schema.prepareCopy(database)
                return try member.joinFenced(database)
            }
            membership = Mutex(Membership(number: number, at: .zero))
            secrets = .locked
        } catch {
            throw StoreError(error)
        }
        outbox = OutboxMemory(maximumQueueCount: ProtocolLimits.maximumQueuedPushCount, namedBundleIDs: [])
        size = DatabaseSize()
        self.logger = logger
        damagedRows = DamagedRows(logger: logger)
        (self.member, time) = (member, SteadyTime(clock: ContinuousClock(), start: Timestamp(nanoseconds: 0)))
        maximumStoredByteCount = nil
        pool = ConnectionPool(parameters, connectionCount: 1)
    }

    /// Reads the identity that a database belongs to, without creating or changing it.
    ///
    /// - Returns: The compressed public key; nil if the database has no tables yet.
    /// - Throws: `StoreError` if the database is unreachable.
    package static func identity(of parameters: [String: String]) throws(StoreError) -> FixedBytes<33>? {
        do {
            return try ConnectionSlot(parameters).perform(.reading) { try Schema.identity($0) }
        } catch {
            let error = StoreError(error)
            if error == .notSetUp { return nil }
            throw error
        }
    }

    /// Returns whether PostgreSQL logs statements with their values, among them device tokens. Only its superuser can change that.
    ///
    /// - Throws: `StoreError` if the database is unreachable.
    package static func logsValues(_ parameters: [String: String]) throws(StoreError) -> Bool {
        do {
            return try ConnectionSlot(parameters).perform(.reading) { try logsValues($0) }
        } catch {
            throw StoreError(error)
        }
    }

    package func logsValues() async throws -> Bool { try await read { try Self.logsValues($0) } }

    private static func logsValues(_ database: Transaction) throws -> Bool {
        let isLogged = """
            SELECT current_setting('log_parameter_max_length') <> '0'
                AND (current_setting('log_statement') IN ('mod', 'all') OR current_setting('log_min_duration_statement') <> '-1'
                    OR current_setting('log_min_duration_sample') <> '-1' OR current_setting('log_transaction_sample_rate') <> '0')
            """
        return try database.first(isLogged) { try $0.next(Bool.self) } ?? false
    }

    /// This server's number among those that share the database. It changes when the server joins again.
    package var number: Int64 { membership.withLock(\.number) }

    package var sealing: RowSealing { secrets.sealing }

    package func checkFile() {}

    package func probe() async throws {
        try await pool.perform(.writing) {
            $0.add("INSERT INTO probe (id, count) VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET count = probe.count + 1")
        }
    }

    /// Completes the writes that wait, hands over the work to the other servers, and closes the connections.
    package func close() async {
        guard number != 0 else { return await pool.close() }
        let number = number
        // If the database is unreachable, the others take the work over when the lease ends.
        try? await pool.perform(.writing) { $0.add("UPDATE server SET is_fenced = true WHERE number = $1", number) }
        await pool.close()
    }

    /// Reads from one state of the database.
    func read<Result: Sendable>(_ body: @escaping @Sendable (Transaction) throws -> Result) async throws -> Result {
        try await pool.perform(.reading, body)
    }

    /// Writes in one transaction, with its changes of the ledger and of the outbox's memory.
    func write<Result: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> Result) async throws -> Result {
        let number = number
        return try await pool.perform(.writing) { [outbox, secrets, damagedRows, member, metrics] database in
            let start = ContinuousClock.now
            let transaction = WriteTransaction(
                database: database, server: number, secrets: secrets, damagedRows: damagedRows, outbox: OutboxChanges(outbox))
            database.atEnd { isDurable in
                guard isDurable else { return transaction.outbox.abandon() }
                metrics.committed(rowCount: database.writtenRowCount, after: ContinuousClock.now - start)
                transaction.outbox.keep()
            }
            let result = try body(transaction)
            transaction.ledger.write(to: database, of: member.name)
            return result
        }
    }
}

package struct WriteTransaction {
    package let database: Transaction
    /// The number of this server, which owns what the transaction adds and changes only what it owns.
    let server: Int64
    let secrets: DatabaseSecrets
    package let damagedRows: DamagedRows
    package let outbox: OutboxChanges
    package let ledger = LedgerChanges()
    package let loadedRoutes = LoadedRoutes()

    var fingerprints: ListFingerprints { secrets.fingerprints }
    package var sealing: RowSealing { secrets.sealing }
}

/// The size of the database, which PostgreSQL finds by looking at all of its files.
///
/// Space that deleted rows have freed counts until new rows use it or `VACUUM FULL` returns it to the disk.
final class DatabaseSize: Sendable {
    /// How long a size counts as current.
    private static let lifetime = Duration.seconds(10)

    private let last = Mutex<(byteCount: Int, at: ContinuousClock.Instant)?>(nil)

    /// Returns whether the database has exceeded a size in bytes.
    func exceeds(_ maximum: Int, _ database: Transaction) throws -> Bool {
        let now = ContinuousClock.now
        if let last = last.withLock(\.self), now < last.at + Self.lifetime { return last.byteCount > maximum }
        let byteCount = try database.count("SELECT pg_database_size(current_database())")
        last.withLock { $0 = (byteCount, now) }
        return byteCount > maximum
    }
}
