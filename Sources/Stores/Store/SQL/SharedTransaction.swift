import Bytes
package import PushProtocol
package import Wire

/// A transaction, as far as a statement can be the same for both databases.
///
/// Parameters are `$1`, `$2` and so on. Statements of the hot path are not among these: each store has them in the form that its database
/// runs fastest.
package protocol SharedTransaction {
    associatedtype Row: SharedRow

    /// Runs a statement that returns no rows.
    ///
    /// - Returns: The number of rows that it inserted, changed or deleted.
    func change(_ sql: String, _ values: [any SharedValue]) throws -> Int

    /// Runs a statement whose result does not matter, at the latest before the next query.
    func changeLater(_ sql: String, _ values: [any SharedValue]) throws

    /// Reads all rows of a query.
    func rows<Result>(_ sql: String, _ values: [any SharedValue], read: (inout Row) throws -> Result) throws -> [Result]
}

extension SharedTransaction {
    /// The words in which the two databases differ.
    package static var dialect: SQLDialect { Row.dialect }

    @discardableResult
    package func change(_ sql: String, _ values: any SharedValue...) throws -> Int { try change(sql, values) }

    package func changeLater(_ sql: String, _ values: any SharedValue...) throws { try changeLater(sql, values) }

    package func rows<Result>(_ sql: String, _ values: any SharedValue..., read: (inout Row) throws -> Result) throws -> [Result] {
        try rows(sql, values, read: read)
    }

    /// Reads the first row of a query.
    package func firstRow<Result>(
        _ sql: String, _ values: any SharedValue..., read: (inout Row) throws -> Result
    ) throws -> Result? {
        try rows(sql, values, read: read).first
    }

    /// Reads the one number of a `SELECT count(*)`.
    package func countRows(_ sql: String, _ values: any SharedValue...) throws -> Int {
        try rows(sql, values) { try $0.value(Int.self) }.first ?? 0
    }
}

/// The columns of a row, read from the first to the last.
package protocol SharedRow {
    /// The words in which the two databases differ.
    static var dialect: SQLDialect { get }

    mutating func nextScalar() throws -> SQLScalar

    /// Passes over the columns that are left.
    mutating func skipRest()
}

extension SharedRow {
    /// Reads the next column.
    ///
    /// - Throws: `damaged` if the value does not have this type.
    package mutating func value<Value: SharedValue>(_ type: Value.Type = Value.self) throws -> Value {
        try Value(scalar: nextScalar())
    }

    /// Reads the next column as a sealed value, or nil for NULL.
    package mutating func value(_ sealing: RowSealing, in place: @autoclosure () -> SealedPlace) throws -> [UInt8]? {
        try sealing.value(value(), in: place())
    }

    /// Reads the next column as a sealed protobuf message; NULL gives an empty message.
    package mutating func message<Message: WireMessage>(
        _ sealing: RowSealing, in place: @autoclosure () -> SealedPlace
    ) throws -> Message {
        guard let bytes = try value(sealing, in: place()) else { return Message() }
        do throws(WireError) { return try Message.decode(bytes) } catch { throw StoreError.damaged }
    }

    /// Reads the next column as a version.
    package mutating func version() throws -> UInt64 { Self.dialect.version(stored: try value()) }

    /// Reads an installation from the next two columns.
    package mutating func installation() throws -> Installation {
        Installation(keyHash: try value(), installationID: try value())
    }

    /// Reads a row, or nil if it is damaged, and its number then joins the others.
    package mutating func readable<Result>(
        _ row: Int64, or damaged: inout [Int64], _ read: (inout Self) throws -> Result
    ) rethrows -> Result? {
        do {
            return try read(&self)
        } catch StoreError.damaged {
            damaged.append(row)
            skipRest()
            return nil
        }
    }
}
