/// A connection to a database, or a transaction of it, that runs statements.
///
/// Their parameters are `$1`, `$2` and so on. Statements that both databases run in the same form are in this module. Each store has those
/// about tables that differ, which are messages and registrations above all.
package protocol SQLDatabase {
    associatedtype Row: SQLRow

    /// Runs a statement that returns no rows.
    ///
    /// - Returns: The number of rows that it inserted, changed or deleted.
    @discardableResult
    func run<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int

    /// Runs a statement whose result does not matter, at the latest before the next query.
    func add<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws

    /// Runs a statement with each of several rows of values, and reads the rows that it returns. PostgreSQL does so in one round trip.
    ///
    /// - Returns: How many rows each run inserted, changed or deleted.
    @discardableResult
    func run<each Value: SQLValue>(_ sql: String, each rows: [(repeat each Value)], read: (inout Row) throws -> Void) throws -> [Int]

    /// Steps through the rows of a query until `read` returns false.
    func step<each Value: SQLValue>(_ sql: String, _ values: repeat each Value, read: (inout Row) throws -> Bool) throws
}

extension SQLDatabase {
    /// The words in which the two databases differ.
    package static var dialect: SQLDialect { Row.dialect }

    /// Runs a statement that returns no rows with each of several rows of values.
    ///
    /// - Returns: How many rows each run inserted, changed or deleted.
    @discardableResult
    package func run<each Value: SQLValue>(_ sql: String, each rows: [(repeat each Value)]) throws -> [Int] {
        try run(sql, each: rows) { _ in }
    }

    /// Runs a statement whose results do not matter with each of several rows of values, at the latest before the next query.
    package func add<each Value: SQLValue>(_ sql: String, each rows: [(repeat each Value)]) throws {
        for row in rows { try add(sql, repeat each row) }
    }

    /// Steps through all rows of a query.
    @inlinable
    package func forEach<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, read: (inout Row) throws -> Void
    ) throws {
        try step(sql, repeat each values) { row in
            try read(&row)
            return true
        }
    }

    /// Reads all rows of a query.
    @inlinable
    package func all<each Value: SQLValue, Result>(
        _ sql: String, _ values: repeat each Value, read: (inout Row) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try forEach(sql, repeat each values) { results.append(try read(&$0)) }
        return results
    }

    /// Reads the first row of a query.
    @inlinable
    package func first<each Value: SQLValue, Result>(
        _ sql: String, _ values: repeat each Value, read: (inout Row) throws -> Result
    ) throws -> Result? {
        var result: Result?
        try step(sql, repeat each values) { row in
            result = try read(&row)
            return false
        }
        return result
    }

    /// Reads the one number of a `SELECT count(*)`.
    @inlinable
    package func count<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int {
        try first(sql, repeat each values) { try $0.next(Int.self) } ?? 0
    }
}

/// The columns of a row, read from the first to the last.
package protocol SQLRow {
    /// The words in which the two databases differ.
    static var dialect: SQLDialect { get }

    /// Reads the next column.
    ///
    /// - Throws: `damaged` if the value does not have this type.
    mutating func next<Value: SQLValue>(_ type: Value.Type) throws(StoreError) -> Value

    /// Passes over the columns that are left.
    mutating func skipRest()
}

extension SQLRow {
    /// Reads the next column as the type that is wanted.
    ///
    /// - Throws: `damaged` if the value does not have this type.
    @inlinable
    package mutating func next<Value: SQLValue>() throws(StoreError) -> Value { try next(Value.self) }

    /// Reads a row, or nil if it is damaged.
    package mutating func readable<Result>(_ read: (inout Self) throws -> Result) rethrows -> Result? {
        do {
            return try read(&self)
        } catch StoreError.damaged {
            skipRest()
            return nil
        }
    }

    /// Reads a row, or nil if it is damaged, and its number then joins the others.
    package mutating func readable<Result>(
        _ row: Int64, or damaged: inout [Int64], _ read: (inout Self) throws -> Result
    ) rethrows -> Result? {
        let result = try readable(read)
        if result == nil { damaged.append(row) }
        return result
    }
}
