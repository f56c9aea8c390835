import Store

/// One transaction of re-sealing. It seals rows that an older key has sealed with the newest key.
///
/// It locks the rows that it reads: otherwise it could write back secrets that another transaction has erased meanwhile.
struct Resealing {
    /// One transaction takes this many rows, or 1 MiB of their secrets, and holds its locks for a few milliseconds.
    private static let maximumRowCount = 500
    private static let maximumByteCount = 1 << 20

    let transaction: WriteTransaction
    /// The first byte of the values that the newest key has sealed.
    let newestKey: [UInt8]

    private var database: Transaction { transaction.database }

    /// Continues at the stored state and stores the new one.
    func next(_ state: ResealingState) throws {
        guard let table = SealedTable<RowCursor>(state.step) else { return }
        let position =
            switch state.step {
            case .proxyDevices: try reseal(table, "identifier", after: [UInt8](position: state.position))
            case .originKeys: try reseal(table, "user_name", after: [UInt8](position: state.position))
            default: try reseal(table, "id", after: Int64(position: state.position))
            }
        let step = position == nil ? state.step.next : state.step
        database.add("UPDATE sealing SET step = $1, position = $2", step, position ?? [])
        if step == .done { database.add("DELETE FROM sealing_key WHERE key_id <> (SELECT key_id FROM sealing)") }
    }

    /// Examines the next rows of a table and changes those that an older key has sealed.
    ///
    /// - Parameter column: The column whose order the step follows.
    /// - Returns: The last row's position, or nil without rows after `position`.
    private func reseal<Key: ResealingPosition>(
        _ table: SealedTable<RowCursor>, _ column: String, after position: Key
    ) throws -> [UInt8]? {
        let (name, key) = (table.name, "\(table.name).\(column)")
        let byteCount = table.sealedColumns.map { "coalesce(octet_length(\($0)), 0)" }.joined(separator: " + ")
        let keys = try database.all(
            """
            SELECT key FROM (
                SELECT key, byte_count, sum(byte_count) OVER (ORDER BY key) AS total FROM (
                    SELECT \(key) AS key, (\(byteCount))::int8 AS byte_count FROM \(name)
                    WHERE \(table.condition) AND \(key) > $1 ORDER BY \(key) LIMIT \(Self.maximumRowCount)
                ) AS following
            ) AS counted
            WHERE total - byte_count < \(Self.maximumByteCount) ORDER BY key
            """,
            position
        ) { try $0.next(Key.self) }
        guard let last = keys.last else { return nil }
        let isStale = table.sealedColumns.map { "substr(\($0), 1, 1) <> $2" }.joined(separator: " OR ")
        var damaged: [Int64] = []
        let due = try database.all(
            """
            SELECT \(key), \(table.columns) FROM \(name) \(table.join)
            WHERE \(key) = ANY($1) AND \(table.condition) AND (\(isStale)) ORDER BY \(key) FOR UPDATE OF \(name)
            """,
            SQLArray(keys), newestKey
        ) { row in
            let key: Key = try row.next()
            // A row that does not open keeps its value: it must not stop the others.
            return (key: key, values: try row.readable(0, or: &damaged) { try table.resealed(&$0, transaction.sealing) })
        }
        for row in due { if let values = row.values { try table.store(values, where: column, is: row.key, database) } }
        return last.position
    }
}

extension SealedTable<RowCursor> {
    /// The table that a step goes through, or nil after the last.
    fileprivate init?(_ step: ResealingStep) {
        switch step {
        case .registrations: self = .registrations([.tokens, .allowedKeys, .chatLists])
        case .deadRegistrations: self = .deadRegistrations
        case .pushes: self = .pushes
        case .replies: self = .replies
        case .proxyDevices: self = .proxyDevices
        case .originKeys: self = .originKeys
        case .originPushes: self = .originPushes
        case .done: return nil
        }
    }

    /// The SQL condition for the rows to examine, which an index covers.
    fileprivate var condition: String {
        switch name {
        case "registration": "is_live"
        case "push": OpenPushes.inOrder
        default: "true"
        }
    }

    fileprivate var join: String {
        name == "nextcloud_origin_push" ? "JOIN nextcloud_origin_device AS device ON device.id = nextcloud_origin_push.device" : ""
    }
}
