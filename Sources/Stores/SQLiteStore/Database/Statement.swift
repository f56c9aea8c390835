import GRDB
import GRDBSQLite
package import Store
import Wire

extension Database {
    /// Runs a statement that returns no rows, inside a transaction.
    ///
    /// SQLite may roll a transaction back by itself (disk full, I/O error). If the caller continued, its further statements would commit
    /// one by one, so they throw.
    ///
    /// - Returns: The number of changed rows.
    @discardableResult
    func run<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int {
        guard isInTransaction else { throw StoreError(code: SQLITE_ABORT) }
        let statement = try prepare(sql, repeat each values)
        defer { statement.reset() }
        while try statement.step() {}
        return unsafe Int(sqlite3_changes(sqliteConnection))
    }

    /// Reads the first row of a query.
    func first<each Value: SQLValue, Result>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Result
    ) throws -> Result? {
        let statement = try prepare(sql, repeat each values)
        defer { statement.reset() }
        return try statement.step() ? statement.row(read) : nil
    }

    /// Reads all rows of a query.
    func all<each Value: SQLValue, Result>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Result
    ) throws -> [Result] {
        var results: [Result] = []
        try forEach(sql, repeat each values) { results.append(try read(&$0)) }
        return results
    }

    /// Reads the one number of a `SELECT count(*)`.
    func count<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int {
        try first(sql, repeat each values) { try $0.next() } ?? 0
    }

    /// Steps through a query's rows.
    func forEach<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Void
    ) throws {
        try step(sql, repeat each values) {
            try read(&$0)
            return true
        }
    }

    /// Steps through a query's rows until `read` returns false.
    func step<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Bool
    ) throws {
        let statement = try prepare(sql, repeat each values)
        defer { statement.reset() }
        while try statement.step(), try statement.row(read) {}
    }

    /// Steps through the rows of a query whose parameters have names.
    ///
    /// - Parameter value: Returns the value of a parameter by its name, such as `:id`.
    func step(_ sql: String, named value: (String) -> CopiedValue, read: (inout RowCursor) throws -> Void) throws {
        let statement = BoundStatement(try cachedStatement(sql: sql))
        defer { statement.reset() }
        for (index, name) in statement.parameterNames.enumerated() { try value(name).bind(to: statement, at: Int32(index) + 1) }
        while try statement.step() { try statement.row(read) }
    }

    /// Runs a statement whose parameters have names, inside a transaction.
    func run(_ sql: String, named value: (String) -> CopiedValue) throws {
        guard isInTransaction else { throw StoreError(code: SQLITE_ABORT) }
        try step(sql, named: value) { _ in }
    }

    /// Steps through the rows of a statement with the parameters `$1`, `$2` and so on. Values that it does not use are left out.
    ///
    /// Outside a transaction the statement may only read.
    func step(_ sql: String, values: [SQLScalar], read: (inout RowCursor) throws -> Void) throws {
        let statement = BoundStatement(try cachedStatement(sql: sql))
        guard statement.isReadOnly || isInTransaction else { throw StoreError(code: SQLITE_ABORT) }
        defer { statement.reset() }
        // To SQLite `$1` is a name, and it numbers names by their first occurrence.
        for (index, name) in statement.parameterNames.enumerated() {
            guard let number = Int(name.dropFirst()), values.indices.contains(number - 1) else { throw StoreError(code: SQLITE_RANGE) }
            try values[number - 1].bind(to: statement, at: Int32(index) + 1)
        }
        while try statement.step() { try statement.row(read) }
    }

    /// Whether a transaction is open. GRDB's properties would check the current queue three times for each statement.
    private var isInTransaction: Bool { unsafe sqlite3_get_autocommit(sqliteConnection) == 0 }

    private func prepare<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> BoundStatement {
        let statement = BoundStatement(try cachedStatement(sql: sql))
        var index: Int32 = 0
        for value in repeat each values {
            index += 1
            try value.bind(to: statement, at: index)
        }
        // SQLite treats unbound parameters as NULL.
        guard index == statement.parameterCount else { throw StoreError(code: SQLITE_RANGE) }
        return statement
    }
}

/// A row's columns, read from the first to the last.
package struct RowCursor {
    private let statement: BoundStatement
    private var column: Int32 = 0

    fileprivate init(_ statement: BoundStatement) {
        self.statement = statement
    }

    /// Reads the next column.
    ///
    /// - Throws: `damaged` if the value does not have this type.
    mutating func next<Value: SQLValue>(_ type: Value.Type = Value.self) throws -> Value {
        defer { column += 1 }
        return try Value(reading: statement, column)
    }

    /// Reads the next column as a protobuf message. NULL gives an empty message.
    mutating func nextMessage<Message: WireMessage>(_ type: Message.Type = Message.self) throws -> Message {
        try Self.message(try next())
    }

    package mutating func nextScalar() throws -> SQLScalar {
        defer { column += 1 }
        return try statement.scalar(column)
    }

    /// Passes over the columns that are left.
    package mutating func skipRest() { column = statement.columnCount }

    private static func message<Message: WireMessage>(_ bytes: [UInt8]?) throws -> Message {
        guard let bytes else { return Message() }
        do throws(WireError) { return try Message.decode(bytes) } catch { throw StoreError.damaged }
    }

    fileprivate var isAtEnd: Bool { column == statement.columnCount }
}

/// A prepared statement of GRDB's cache, used through SQLite's C interface, because GRDB's own binding and rows copy values in `Data` and
/// boxes. It is safe: it retains the statement that it points to, and returns only copies.
@safe struct BoundStatement {
    private let statement: Statement
    private var pointer: OpaquePointer { unsafe statement.sqliteStatement }

    fileprivate init(_ statement: Statement) {
        self.statement = statement
    }

    /// Whether the statement changes nothing.
    fileprivate var isReadOnly: Bool { unsafe sqlite3_stmt_readonly(pointer) != 0 }
    fileprivate var parameterCount: Int32 { unsafe sqlite3_bind_parameter_count(pointer) }
    fileprivate var parameterNames: [String] {
        (0..<parameterCount).map { unsafe String(cString: sqlite3_bind_parameter_name(pointer, $0 + 1)) }
    }
    fileprivate var columnCount: Int32 { unsafe sqlite3_column_count(pointer) }

    func bind(_ value: Int64, at index: Int32) throws(StoreError) {
        unsafe try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// Binds a text with its length, because a peer's text may contain a NUL.
    func bind(text: String, at index: Int32) throws(StoreError) {
        var text = text
        let code = text.withUTF8 { utf8 in
            unsafe utf8.withMemoryRebound(to: CChar.self) {
                unsafe sqlite3_bind_text64(
                    pointer, index, $0.baseAddress, UInt64($0.count), Self.transient, UInt8(SQLITE_UTF8))
            }
        }
        try check(code)
    }

    /// Binds a blob. An empty blob stays a blob and does not become NULL.
    func bind(blob: Span<UInt8>, at index: Int32) throws(StoreError) {
        let code = unsafe blob.withUnsafeBytes { bytes in
            unsafe bytes.isEmpty
                ? sqlite3_bind_zeroblob(pointer, index, 0)
                : sqlite3_bind_blob64(pointer, index, bytes.baseAddress, UInt64(bytes.count), Self.transient)
        }
        try check(code)
    }

    func bindNull(at index: Int32) throws(StoreError) {
        try check(unsafe sqlite3_bind_null(pointer, index))
    }

    func isNull(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(pointer, column) == SQLITE_NULL
    }

    func isInteger(_ column: Int32) -> Bool {
        unsafe sqlite3_column_type(pointer, column) == SQLITE_INTEGER
    }

    func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(pointer, column)
    }

    func text(_ column: Int32) -> String {
        // The text is read before its length, because sqlite3_column_bytes() may convert the value otherwise.
        guard let start = unsafe sqlite3_column_text(pointer, column) else { return "" }
        let utf8 = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        return unsafe String(decoding: utf8, as: UTF8.self)
    }

    /// - Parameter read: Receives bytes that are valid until it returns.
    func blob<Result>(_ column: Int32, read: (UnsafeRawBufferPointer) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(pointer, column)
        return unsafe read(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column))))
    }

    fileprivate func scalar(_ column: Int32) throws(StoreError) -> SQLScalar {
        switch unsafe sqlite3_column_type(pointer, column) {
        case SQLITE_NULL: .null
        case SQLITE_INTEGER: .integer(integer(column))
        case SQLITE_TEXT: .text(text(column))
        case SQLITE_BLOB: .bytes(unsafe blob(column) { unsafe [UInt8]($0) })
        default: throw .damaged
        }
    }

    /// - Returns: Whether there is a row.
    fileprivate func step() throws(StoreError) -> Bool {
        switch unsafe sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw StoreError(code: code)
        }
    }

    /// Reads the current row.
    ///
    /// - Throws: `StoreError` if `read` does not read all of its columns.
    fileprivate func row<Result>(_ read: (inout RowCursor) throws -> Result) throws -> Result {
        var row = RowCursor(self)
        let result = try read(&row)
        guard row.isAtEnd else { throw StoreError(code: SQLITE_RANGE) }
        return result
    }

    /// Releases the row and the values, which may be large.
    fileprivate func reset() {
        unsafe sqlite3_reset(pointer)
        unsafe sqlite3_clear_bindings(pointer)
    }

    private func check(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_OK else { throw StoreError(code: code) }
    }

    /// The value of the C macro `SQLITE_TRANSIENT`: SQLite copies the bytes before it returns.
    private static var transient: sqlite3_destructor_type? {
        unsafe unsafeBitCast(-1, to: sqlite3_destructor_type?.self)
    }
}
