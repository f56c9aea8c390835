import Bytes
import StatusCrypto
package import Store

extension PostgreSQLStore: CopyableStore {
    package func copiedDatabase() async throws -> CopiedDatabase {
        if case .locked = sealing { throw StoreError.sealingKeyMissing }
        return try await read { database in
            let identity = try Schema.identity(database)
            let sealing = try database.first("SELECT key_id, step FROM sealing") { row in
                (keyID: try row.next(Int64.self), isComplete: try row.next(ResealingStep.self) == .done)
            }
            guard let sealing else { throw StoreError.notSetUp }
            var lastNumbers: [String: Int64] = [:]
            for table in CopiedTable.all where table.isNumbered {
                // The sequence of an identity column has this name.
                lastNumbers[table.name] = try database.first(
                    "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM \(table.name)_id_seq"
                ) { try $0.next() }
            }
            return CopiedDatabase(identity: identity, sealing: sealing, lastNumbers: lastNumbers)
        }
    }

    package func rowCount(of table: CopiedTable) async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM \(table.source)") }
    }

    package func rows(of table: CopiedTable, after position: [CopiedValue]?, limit: Int) async throws -> CopiedRows {
        let columns = table.key + table.columns
        let key = table.key.map(\.name).joined(separator: ", ")
        let parameters = table.key.indices.map { "$\($0 + 2)" }.joined(separator: ", ")
        let sql = """
            SELECT \(columns.map(\.name).joined(separator: ", ")) FROM \(table.source)
            \(position == nil ? "" : "WHERE (\(key)) > (\(parameters))") ORDER BY \(key) LIMIT $1
            """
        let query = Command(sql, values: [Int64(limit)] + zip(position ?? [], table.key).map { $0.sqlValue($1.kind) })
        return try await read { database in
            let rows = try database.fetch([query])[0].map { row in
                let all = try columns.map { try row.nextCopied($0.kind) }
                return (position: Array(all.prefix(table.key.count)), values: Array(all.dropFirst(table.key.count)))
            }
            return CopiedRows(rows, limit: limit)
        }
    }

    package func insert(_ rows: [[CopiedValue]], into table: CopiedTable) async throws {
        // The first server that starts takes the work over from this fenced one.
        let fixed: [String: any SQLValue] =
            switch table.name {
            case "message": ["server": number, "is_taken": true]
            case "push", "nextcloud_origin_push": ["server": number]
            case "ledger": ["server_name": member.name]
            default: [:]
            }
        let names = table.columns.map(\.name) + fixed.keys
        let sql = """
            INSERT INTO \(table.name) (\(names.joined(separator: ", "))) OVERRIDING SYSTEM VALUE
            VALUES (\(names.indices.map { "$\($0 + 1)" }.joined(separator: ", ")))
            """
        let commands = rows.map { row in Command(sql, values: zip(row, table.columns).map { $0.sqlValue($1.kind) } + fixed.values) }
        try await pool.perform(.writing) { database in
            for command in commands { database.add(command) }
        }
    }

    package func complete(_ copied: CopiedDatabase) async throws {
        let number = number
        try await pool.perform(.writing) { database in
            // A later copy that found this one's lock free has emptied the tables, with the row of this number.
            guard try database.count("SELECT count(*) FROM server WHERE number = $1", number) == 1 else { throw StoreError.incompleteCopy }
            database.add("INSERT INTO owner (key_hash) SELECT DISTINCT key_hash FROM registration ON CONFLICT DO NOTHING")
            for (table, number) in copied.lastNumbers {
                database.add("SELECT setval('\(table)_id_seq', greatest($1, 1), $1 > 0)", number)
            }
            // The steps of another kind of store are others, so unfinished re-sealing begins again.
            try database.insertSealing(
                keyID: copied.sealing.keyID, step: copied.sealing.isComplete ? ResealingStep.done : .first)
            Schema.insertIdentity(database, identity: copied.identity)
        }
    }
}

extension PostgreSQLStore {
    /// The caller holds the ``OperatorLock``.
    package func markMoved(to place: String) async throws {
        try await pool.perform(.writing) { Schema.markMoved($0, to: place) }
    }

    /// Lifts the mark. The caller holds the ``OperatorLock``.
    ///
    /// - Returns: The path of the other database; nil if there was no mark.
    package static func liftMark(of parameters: [String: String]) throws(StoreError) -> String? {
        do {
            return try ConnectionSlot(parameters).perform(.writing) { try Schema.liftMark($0) }
        } catch {
            throw StoreError(error)
        }
    }
}

extension CopiedTable {
    /// The rows to copy. All servers' counts of a milestone are one row.
    fileprivate var source: String {
        name == "ledger"
            ? "(SELECT milestone, sum(count)::int8 AS count, sum(pruned)::int8 AS pruned FROM ledger GROUP BY milestone) AS ledger" : name
    }
}

extension CopiedValue {
    /// The value for a column of that kind. An unsigned number has its highest bit inverted, so that PostgreSQL orders it.
    fileprivate func sqlValue(_ kind: CopiedTable.Kind) -> any SQLValue {
        let (integer, bytes): (Int64?, [UInt8]?) =
            switch self {
            case .null: (nil, nil)
            case .integer(let value): (value, nil)
            case .bytes(let value): (nil, value)
            }
        return switch kind {
        case .integer: integer
        case .bool: integer.map { $0 != 0 }
        case .unsigned: integer.map { $0 ^ .min }
        case .text, .bytes: bytes
        }
    }
}

extension RowCursor {
    fileprivate mutating func nextCopied(_ kind: CopiedTable.Kind) throws -> CopiedValue {
        switch kind {
        case .integer: try next(Int64?.self).map(CopiedValue.integer) ?? .null
        case .bool: try next(Bool?.self).map { .integer($0 ? 1 : 0) } ?? .null
        case .unsigned: try next(Int64?.self).map { .integer($0 ^ .min) } ?? .null
        case .text, .bytes: try next([UInt8]?.self).map(CopiedValue.bytes) ?? .null
        }
    }
}
