import Bytes
import GRDB
import StatusCrypto
package import Store

extension SQLiteStore: CopyableStore {
    package func copiedDatabase() async throws -> CopiedDatabase {
        if case .locked = sealing { throw StoreError.sealingKeyMissing }
        return try await read { database in
            let identity = try database.first("SELECT public_key FROM identity") { try $0.next(FixedBytes<33>.self) }
            let sealing = try database.first("SELECT key_id, step FROM sealing") { row in
                (keyID: try row.next(Int64.self), isComplete: try row.next(ResealingStep.self) == .done)
            }
            guard let identity, let sealing else { throw StoreError.notSetUp }
            var lastNumbers: [String: Int64] = [:]
            for table in CopiedTable.all.filter(\.isNumbered).map(\.name) {
                let given = try database.count("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?", table)
                lastNumbers[table] = Int64(max(given, try database.count("SELECT coalesce(max(id), 0) FROM \(table)")))
            }
            return CopiedDatabase(identity: identity, sealing: sealing, lastNumbers: lastNumbers)
        }
    }

    package func rowCount(of table: CopiedTable) async throws -> Int {
        try await read { try $0.count("SELECT count(*) FROM \(table.name)") }
    }

    package func rows(of table: CopiedTable, after position: [CopiedValue]?, limit: Int) async throws -> CopiedRows {
        let (sql, positionCount) = table.selection(isFirst: position == nil)
        var parameters = [":limit": CopiedValue.integer(Int64(limit))]
        for (index, value) in (position ?? []).enumerated() { parameters[":position\(index)"] = value }
        return try await read { [parameters] database in
            var rows: [(position: [CopiedValue], values: [CopiedValue])] = []
            try database.step(sql, named: { parameters[$0] ?? .null }) { row in
                let position = try (0..<positionCount).map { _ in try row.nextCopied() }
                rows.append((position, try table.columns.map { _ in try row.nextCopied() }))
            }
            return CopiedRows(rows, limit: limit)
        }
    }

    package func insert(_ rows: [[CopiedValue]], into table: CopiedTable) async throws {
        let insertions = table.insertions
        try await queue.perform { transaction in
            for row in rows {
                let values = Dictionary(zip(table.columns.map(\.name), row)) { first, _ in first }
                for sql in insertions { try transaction.database.step(sql, named: { values.parameter($0) }) { _ in } }
            }
        }
    }

    package func complete(_ copied: CopiedDatabase) async throws {
        try await queue.perform { transaction in
            let database = transaction.database
            // The steps of another kind of store are others, so unfinished re-sealing begins again.
            try database.insertSealing(
                keyID: copied.sealing.keyID, step: copied.sealing.isComplete ? ResealingStep.done : .first)
            for table in ["dead_registration", "nextcloud_origin_device", "nextcloud_origin_push"] {
                try database.run("DELETE FROM sqlite_sequence WHERE name = ?", table)
                try database.run("INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", table, copied.lastNumbers[table] ?? 0)
            }
            // PostgreSQL skips row numbers, and the audit counts all rows by the newest number.
            var facts = AuditFacts()
            try database.readLedger(into: &facts)
            try database.readRowsEver(into: &facts)
            let ever = Audit.rowsEver(facts)
            try database.run(
                "INSERT INTO unused_number (table_name, count) VALUES ('message', ?), ('push', ?)",
                (facts.messageRowsEver ?? 0) - ever.messages, (facts.pushRowsEver ?? 0) - ever.pushes)
        }
    }
}

extension [String: CopiedValue] {
    /// The value of a named parameter (``CopiedTable/layout``).
    fileprivate func parameter(_ name: String) -> CopiedValue {
        let name = String(name.dropFirst())
        if let value = self[name] { return value }
        let (isHashed, isPrefix) = (name.hasPrefix("hashed_prefix_of_"), name.hasPrefix("prefix_of_"))
        guard isHashed || isPrefix, case .bytes(let bytes) = self[String(name.dropFirst(isHashed ? 17 : 10))] else { return .null }
        let source = isHashed ? SHA256.hash(bytes.span).bytes : bytes
        return FixedBytes<8>(Array(source.prefix(8))).map { .integer($0.prefix) } ?? .null
    }
}

extension Database {
    /// Steps through the rows of a statement whose parameters have names.
    ///
    /// - Parameter value: Returns the value of a parameter by its name, such as `:id`.
    fileprivate func step(_ sql: String, named value: (String) -> CopiedValue, read: (inout RowCursor) throws -> Void) throws {
        let statement = try bindable(sql)
        defer { statement.reset() }
        for (index, name) in zip((1 as Int32)..., statement.parameterNames) {
            switch value(name) {
            case .null: try statement.bindNull(at: index)
            case .integer(let value): try statement.bind(value, at: index)
            case .bytes(let value): try statement.bind(blob: value.span, at: index)
            }
        }
        while try statement.step() { try statement.row(read) }
    }
}

extension RowCursor {
    fileprivate mutating func nextCopied() throws -> CopiedValue {
        let column = try nextColumn()
        if column.isNull { return .null }
        return try column.isInteger ? .integer(column.integer()) : .bytes([UInt8](reading: column))
    }
}
