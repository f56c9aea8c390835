import Bytes
import StatusCrypto
import Store

/// The versions of the tables, and the check that the database belongs to this program and identity.
enum Schema {
    /// The version of the tables, which the database stores. A program refuses a database of a newer version.
    private static let version: Int64 = 5
    /// The version of 0.3.0, which this program changes into its own. It refuses a database of an older version.
    private static let earlierVersion: Int64 = 4

    /// Creates the tables if there are none, and brings those of 0.3.0 up to date.
    ///
    /// - Parameter connect: Opens another connection to the database.
    /// - Throws: `StoreError` if the database belongs to another identity or version, if an operator's command has locked it, or if another
    ///   session uses tables that have to be changed.
    static func prepare(_ transaction: Transaction, identity: FixedBytes<33>, connect: () throws -> Connection) throws {
        try OperatorLock.exclude(by: transaction)
        OperatorLock.excludeStarts(by: transaction)
        if try !hasTables(transaction) {
            add(Tables.all, to: transaction)
            insertIdentity(transaction, identity: identity)
        }
        guard try self.identity(transaction) == identity else { throw StoreError.otherIdentity }
        guard try transaction.count("SELECT schema_version FROM identity") == earlierVersion else { return }
        // This transaction waits for the indexes, and keeps other starts away. If that takes longer, the next start finds what was built.
        try transaction.run("SET LOCAL idle_in_transaction_session_timeout = '10min'")
        try addIndexes(connect())
        // Behind a change that waits for another session, all statements of the running servers would wait too.
        transaction.add("SET LOCAL lock_timeout = '2s'")
        changeTables(transaction)
    }

    /// Creates the tables for the rows of another store, or empties those of a copy that was interrupted. They get no identity, so that no
    /// server uses them.
    ///
    /// - Throws: `StoreError.otherIdentity` if the database belongs to an identity.
    static func prepareCopy(_ transaction: Transaction) throws {
        guard try hasTables(transaction) else { return add(Tables.all, to: transaction) }
        guard try transaction.count("SELECT count(*) FROM identity") == 0 else { throw StoreError.otherIdentity }
        changeTables(transaction)
        let tables = CopiedTable.all.map(\.name) + ["owner", "server", "sealing", "damaged_row", "clock", "hole_listing", "lost_time"]
        transaction.add("TRUNCATE \(tables.joined(separator: ", "))")
    }

    /// Brings tables of 0.3.0 up to date. Other servers wait meanwhile, and those of 0.3.0 then continue.
    private static func changeTables(_ transaction: Transaction) {
        add(Tables.changes, to: transaction)
        transaction.add("UPDATE identity SET schema_version = $1", version)
    }

    /// Adds the indexes that 0.3.0 lacks, while its servers continue: to read the whole table takes seconds. A build waits for transactions
    /// that have begun before, and nobody waits for it. What is left of an interrupted one is invalid.
    private static func addIndexes(_ connection: Connection) throws {
        func run(_ statement: String) throws -> Rows { try connection.run([Command(statement)])[0] }
        let invalid = try run(
            """
            SELECT relname::text::bytea FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
            WHERE indrelid = 'push'::regclass AND NOT indisvalid AND relname IN ('push_waiting', 'push_uncertain')
            """)
        for name in try invalid.map({ try $0.next(String.self) }) { _ = try run("DROP INDEX CONCURRENTLY \(name)") }
        for statement in statements(of: Tables.deliveryIndexes) {
            _ = try run(statement.replacing("CREATE INDEX", with: "CREATE INDEX CONCURRENTLY"))
        }
    }

    private static func add(_ statements: String, to transaction: Transaction) {
        for statement in self.statements(of: statements) { transaction.add(statement) }
    }

    private static func statements(of text: String) -> [String] { text.split(separator: ";\n").map(String.init) }

    static func insertIdentity(_ transaction: Transaction, identity: FixedBytes<33>) {
        transaction.add("INSERT INTO identity (id, public_key, schema_version) VALUES (1, $1, $2)", identity, version)
    }

    /// Reads the identity that the database belongs to.
    ///
    /// - Throws: `StoreError` if there are no tables, those of another version, or those of an incomplete copy.
    static func identity(_ transaction: Transaction) throws -> FixedBytes<33> {
        guard try hasTables(transaction) else { throw StoreError.notSetUp }
        let row = try transaction.first("SELECT public_key, schema_version FROM identity") { row in
            (owner: try row.next(FixedBytes<33>.self), version: try row.next(Int64.self))
        }
        guard let row else { throw StoreError.incompleteCopy }
        if row.version >= movedVersion { throw StoreError.moved(to: try movedPlace(transaction)) }
        guard row.version <= version else { throw StoreError.unknownSchema }
        guard row.version >= earlierVersion else { throw StoreError.outdatedSchema }
        return row.owner
    }

    /// Reads the identity for a tool, which finds the tables of this version only.
    ///
    /// - Throws: As ``identity(_:)``, and `StoreError.notSetUp` if no server has brought the tables up to date.
    static func identityOfCurrentTables(_ transaction: Transaction) throws -> FixedBytes<33> {
        let identity = try identity(transaction)
        guard try transaction.count("SELECT schema_version FROM identity") == version else { throw StoreError.notSetUp }
        return identity
    }

    // MARK: The mark on a database whose rows were copied to another one

    /// A version that no program knows, so that earlier programs refuse a marked database too. A mark adds it to the version of the tables.
    private static let movedVersion: Int64 = 1_000_000

    /// Checks that the database was not moved while this server was frozen.
    ///
    /// - Throws: `StoreError.moved`.
    static func checkThatItIsNotMoved(_ transaction: Transaction) throws {
        guard try transaction.count("SELECT count(*) FROM identity WHERE schema_version >= \(movedVersion)") > 0 else { return }
        throw StoreError.moved(to: try movedPlace(transaction))
    }

    /// Marks a database as moved. The place is a comment, because the tables of all versions have that.
    static func markMoved(_ transaction: Transaction, to place: String) {
        transaction.add("UPDATE identity SET schema_version = schema_version + \(movedVersion)")
        transaction.add("COMMENT ON TABLE identity IS '\(place.replacing("'", with: "''"))'")
    }

    /// Lifts the mark.
    ///
    /// - Returns: The place of the mark; nil if there was none.
    static func liftMark(_ transaction: Transaction) throws -> String? {
        guard try hasTables(transaction) else { throw StoreError.notSetUp }
        guard try transaction.count("SELECT count(*) FROM identity WHERE schema_version >= \(movedVersion)") > 0 else { return nil }
        let place = try movedPlace(transaction)
        transaction.add("UPDATE identity SET schema_version = schema_version - \(movedVersion)")
        transaction.add("COMMENT ON TABLE identity IS NULL")
        return place
    }

    private static func movedPlace(_ transaction: Transaction) throws -> String {
        let comment = "SELECT convert_to(coalesce(obj_description('identity'::regclass, 'pg_class'), ''), 'UTF8')"
        return try transaction.first(comment) { try $0.next(String.self) } ?? ""
    }

    private static func hasTables(_ transaction: Transaction) throws -> Bool {
        try transaction.count("SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() AND tablename = 'identity'") > 0
    }
}
