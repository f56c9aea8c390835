package import Bytes
package import ServerCrypto

/// The rows that a step of re-sealing goes through, in the order of a column.
package struct ResealedRows<Row: SQLRow> {
    package let table: SealedTable<Row>
    /// The column whose order the step follows.
    package let key: String
    /// The table and others that are joined with it, after `FROM`.
    fileprivate let source: String
    /// The SQL condition for the rows to examine, which an index covers.
    fileprivate let condition: String

    package init(_ table: SealedTable<Row>, by key: String, from source: String? = nil, where condition: String = "true") {
        self.table = table
        self.key = key
        self.source = source ?? table.name
        self.condition = condition
    }
}

extension SharedWriteTransaction {
    /// Examines the next rows of a table, and seals those with the newest key that an older key has sealed.
    ///
    /// It locks the rows that it changes: otherwise it could write back secrets that another transaction has erased meanwhile.
    ///
    /// - Returns: The key of the last row that was examined, or nil without rows after `position`.
    package func reseal<Key: SQLValue>(
        _ rows: ResealedRows<Database.Row>, after position: Key, newest: [UInt8]
    ) throws -> Key? {
        let (table, key) = (rows.table, "\(rows.table.name).\(rows.key)")
        let byteCount = table.sealedColumns.map { "coalesce(length(\($0)), 0)" }.joined(separator: " + ")
        let last = try database.first(
            """
            SELECT row_key FROM (
                SELECT row_key, byte_count, sum(byte_count) OVER (ORDER BY row_key) AS total FROM (
                    SELECT \(key) AS row_key, \(byteCount) AS byte_count FROM \(rows.source)
                    WHERE \(rows.condition) AND \(key) > $1 ORDER BY \(key) LIMIT \(ResealingLimits.maximumRowCount)
                ) AS following
            ) AS counted
            WHERE total - byte_count < \(ResealingLimits.maximumByteCount) ORDER BY row_key DESC LIMIT 1
            """,
            position
        ) { try $0.next(Key.self) }
        guard let last else { return nil }
        let isStale = table.sealedColumns.map { "substr(\($0), 1, 1) <> $3" }.joined(separator: " OR ")
        let lock = Database.dialect.forUpdate
        let due = try database.all(
            """
            SELECT \(key), \(table.columns) FROM \(rows.source)
            WHERE \(rows.condition) AND \(key) > $1 AND \(key) <= $2 AND (\(isStale)) ORDER BY \(key)
            \(lock.isEmpty ? "" : "\(lock) OF \(table.name)")
            """,
            position, last, newest
        ) { row in
            let key: Key = try row.next()
            // A row that does not open keeps its value: it must not stop the others.
            return (key: key, values: try row.readable { try table.resealed(&$0, sealing) })
        }
        for row in due { if let values = row.values { try table.store(values, where: rows.key, is: row.key, database) } }
        return last
    }
}

/// How much a transaction of re-sealing takes.
package enum ResealingLimits {
    /// Takes a few milliseconds, in which others wait for the writer or for the locks.
    package static let maximumRowCount = 500
    package static let maximumByteCount = 1 << 20
}

extension SealingProgress {
    /// - Parameters:
    ///   - step: The step that goes on.
    ///   - part: How much of it is done, as a fraction.
    package init<Step: RawRepresentable<Int64>>(_ step: Step, _ part: Double, first: Step, done: Step) {
        let (past, all) = (step.rawValue - first.rawValue, done.rawValue - first.rawValue)
        self = past == all ? .sealed : .resealing((Double(past) + part) / Double(all))
    }
}

extension SQLDatabase {
    /// Returns how much of a table with numbered rows is done, as a fraction.
    package func fraction(of rows: ResealedRows<Row>, at position: Int64) throws -> Double {
        let last = try count("SELECT coalesce(max(\(rows.key)), 0) FROM \(rows.table.name)")
        return last == 0 ? 0 : min(1, Double(position) / Double(last))
    }

    /// Prepares a database for its sealing keys at the start, in one short transaction that changes no row with secrets: stores a new
    /// database's secret, or starts the rotation to a new key.
    ///
    /// - Parameters:
    ///   - newSecret: A new database's secret.
    ///   - first: The first step of re-sealing.
    ///   - done: The state after its last step.
    /// - Returns: Whether a rotation starts.
    package func startSealing(
        of identity: FixedBytes<33>, with keys: SealingKeys, newSecret: FixedBytes<32>, first: some SQLValue, done: some SQLValue
    ) throws -> Bool {
        switch try SealingChange(stored: storedSecrets(), identity: identity, keys: keys, newSecret: newSecret) {
        case .start(let secret):
            try insert(secret)
            try insertSealing(keyID: Int64(keys.newest), step: done)
            return false
        case .rotate(let secret):
            if let secret { try insert(secret) }
            return try run(
                "UPDATE sealing SET key_id = $1, step = $2, position = \(Self.dialect.firstPosition) WHERE key_id <> $1",
                Int64(keys.newest), first) > 0
        }
    }

    /// Stores the state of re-sealing in a new database.
    package func insertSealing(keyID: Int64, step: some SQLValue) throws {
        let (column, value) = Self.dialect.needsCompaction ? (", needs_compaction", ", 0") : ("", "")
        try add(
            "INSERT INTO sealing (id, key_id, step, position\(column)) VALUES (1, $1, $2, \(Self.dialect.firstPosition)\(value))", keyID,
            step)
    }
}
