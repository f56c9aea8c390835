package import Bytes
package import Envelope
package import PushProtocol
import Wire

/// A store that runs the shared statements.
package protocol SharedStore: Sendable {
    associatedtype Reading
    associatedtype Writing: SharedWriteTransaction where Writing.Database == Reading

    var sealing: RowSealing { get }
    /// The number of this server, which owns the rows that it adds, or nil in the database of one server.
    var owner: Int64? { get }
    var userKeys: UserKeyCache { get }
    var damagedRows: DamagedRows { get }
    var outbox: OutboxMemory { get }
    /// The name under which this server's own rows are kept. It is empty in the database of one server.
    var serverName: String { get }

    /// Reads from one state of the database.
    func reading<Result: Sendable>(_ body: @escaping @Sendable (Reading) throws -> Result) async throws -> Result

    /// Writes in one transaction, and returns when it is durable.
    func writing<Result: Sendable>(_ body: @escaping @Sendable (Writing) throws -> Result) async throws -> Result

    /// Returns whether there is no space for new devices of gateways.
    func isFull(_ database: Reading) throws -> Bool

    /// Reads columns of this server's unfinished messages, in the order of their rows.
    ///
    /// - Parameter areDecided: Whether the messages that lack only the publication of their replies are read, or those without a decision.
    func unfinishedMessages<Message>(
        _ columns: String, among rows: [Int64], areDecided: Bool, in database: Reading, read: (inout Reading.Row) throws -> Message
    ) throws -> [Message]
}

/// A transaction that writes. It is valid until it ends.
package protocol SharedWriteTransaction {
    associatedtype Database: SQLDatabase

    var database: Database { get }
    var sealing: RowSealing { get }
    /// The number of this server, which owns the rows that it adds, or nil in the database of one server.
    var owner: Int64? { get }
    var damagedRows: DamagedRows { get }
    var outbox: OutboxChanges { get }
    var ledger: LedgerChanges { get }
    var loadedRoutes: LoadedRoutes { get }

    // MARK: What each store does in its own way

    /// Makes other servers wait with a key's registrations until the transaction ends.
    func lockOwner(_ keyHash: Digest64) throws

    /// Stores a registration in place of an earlier one or of a tombstone.
    ///
    /// - Returns: The row, which an installation keeps permanently.
    func register(
        _ registration: Registration, replacing stored: StoredInstallation?, topics: QueryTopics, at now: Timestamp
    ) throws -> Int64

    /// Replaces a registration by a tombstone.
    func unregister(
        _ installation: Installation, replacing stored: StoredInstallation?, version: UInt64, plaintextDigest: Digest32, at now: Timestamp
    ) throws

    /// Makes a server that changes the routes wait until the transaction ends.
    func lockRoutes() throws

    /// Deletes suspicions.
    func clear(_ suspicions: [Digest32]) throws

    /// Withdraws all open pushes to a key's devices because the key is forgotten.
    func withdrawPushes(toOwner keyHash: Digest64, at now: Timestamp) throws

    /// Erases the replies to a key, and those that are not published yet never will be.
    ///
    /// - Returns: The number of replies.
    func eraseReplies(to recipient: FixedBytes<33>) throws -> Int

    /// Stores a device of the Nextcloud proxy, in place of the one with its identifier.
    func put(_ device: ProxyDevice, _ columns: ProxyDeviceColumns) throws
}
