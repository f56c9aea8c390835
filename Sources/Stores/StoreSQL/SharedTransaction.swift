import Bytes
package import Store
package import Wire

/// A transaction, as far as a statement can be the same for both databases.
///
/// Parameters are `$1`, `$2` and so on. Statements of the hot path are not among these: each store has them in the form that its database
/// runs fastest.
package protocol SharedTransaction {
    associatedtype Row: SharedRow

    /// The words in which the two databases differ.
    static var dialect: SQLDialect { get }

    /// Runs a statement that returns no rows.
    ///
    /// - Returns: The number of rows that it inserted, changed or deleted.
    @discardableResult
    func change(_ sql: String, _ values: any SharedValue...) throws -> Int

    /// Runs a statement whose result does not matter, at the latest before the next query.
    func changeLater(_ sql: String, _ values: any SharedValue...) throws

    /// Reads all rows of a query.
    func rows<Result>(_ sql: String, _ values: [any SharedValue], read: (inout Row) throws -> Result) throws -> [Result]
}

extension SharedTransaction {
    package func rows<Result>(_ sql: String, _ values: any SharedValue..., read: (inout Row) throws -> Result) throws -> [Result] {
        try rows(sql, values, read: read)
    }

    /// Reads the first row of a query.
    package func firstRow<Result>(
        _ sql: String, _ values: any SharedValue..., read: (inout Row) throws -> Result
    ) throws -> Result? {
        try rows(sql, values, read: read).first
    }
}

/// The columns of a row, read from the first to the last.
package protocol SharedRow {
    mutating func nextScalar() throws -> SQLScalar
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
}

/// A transaction that writes. It is valid until it ends.
package protocol SharedWriteTransaction {
    associatedtype Database: SharedTransaction

    var database: Database { get }
    var sealing: RowSealing { get }
}

/// A store that runs the shared statements.
package protocol SharedStore: Sendable {
    associatedtype Reading: SharedTransaction
    associatedtype Writing: SharedWriteTransaction

    var sealing: RowSealing { get }

    /// Reads from one state of the database.
    func reading<Result: Sendable>(_ body: @escaping @Sendable (Reading) throws -> Result) async throws -> Result

    /// Writes in one transaction, and returns when it is durable.
    func writing<Result: Sendable>(_ body: @escaping @Sendable (Writing) throws -> Result) async throws -> Result
}

/// The words in which the statements of the two databases differ.
package struct SQLDialect: Sendable {
    /// The column with the user of a Nextcloud device; `user` is a word of PostgreSQL's.
    package var user: String
    /// The condition by which a push is found from its deduplication key `$1`, whose first 8 bytes are `$2`.
    package var isPush: String
    /// Whether a row of `message` is unfinished.
    package var isUnfinished: String
    /// The condition for messages with the id of a status message, which an index covers.
    package var hasStatusMessageID: String

    package init(user: String, isPush: String, isUnfinished: String, hasStatusMessageID: String) {
        self.user = user
        self.isPush = isPush
        self.isUnfinished = isUnfinished
        self.hasStatusMessageID = hasStatusMessageID
    }
}
