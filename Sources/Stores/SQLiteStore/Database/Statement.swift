import GRDB
import GRDBSQLite
import Glibc
package import Store

extension Database: SQLDatabase {
    @discardableResult
    package func run<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws -> Int {
        try step(sql, repeat each values) { _ in true }
        return unsafe Int(sqlite3_changes(sqliteConnection))
    }

    package func add<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) throws { try run(sql, repeat each values) }

    package func run<each Value: SQLValue>(
        _ sql: String, each rows: [(repeat each Value)], read: (inout RowCursor) throws -> Void
    ) throws -> [Int] {
        try rows.map { row in
            try forEach(sql, repeat each row, read: read)
            return unsafe Int(sqlite3_changes(sqliteConnection))
        }
    }

    package func step<each Value: SQLValue>(
        _ sql: String, _ values: repeat each Value, read: (inout RowCursor) throws -> Bool
    ) throws {
        let statement = try bindable(sql)
        defer { statement.reset() }
        var parameters = StatementParameters(statement)
        for value in repeat each values { try value.bind(to: &parameters) }
        try parameters.complete()
        while try statement.step(), try statement.row(read) {}
    }

    /// Returns a statement without values.
    ///
    /// SQLite may roll a transaction back by itself (disk full, I/O error). If the caller continued, its further statements would commit
    /// one by one, so those that change something throw.
    func bindable(_ sql: String) throws -> BoundStatement {
        let statement = BoundStatement(try cachedStatement(sql: sql))
        // GRDB's properties would check the current queue three times for each statement.
        let isInTransaction = unsafe sqlite3_get_autocommit(sqliteConnection) == 0
        guard isInTransaction || statement.isReadOnly else { throw StoreError(code: SQLITE_ABORT) }
        return statement
    }
}

/// A row's columns, read from the first to the last.
package struct RowCursor: SQLRow {
    private let statement: BoundStatement
    private var column: Int32 = 0

    fileprivate init(_ statement: BoundStatement) {
        self.statement = statement
    }

    package mutating func next<Value: SQLValue>(_ type: Value.Type) throws(StoreError) -> Value {
        try Value(reading: nextColumn())
    }

    mutating func nextColumn() throws(StoreError) -> StatementColumn {
        guard !isAtEnd else { throw StoreError(code: SQLITE_RANGE) }
        defer { column += 1 }
        return StatementColumn(statement: statement, index: column)
    }

    package mutating func skipRest() { column = statement.columnCount }

    fileprivate var isAtEnd: Bool { column == statement.columnCount }
}

/// The parameters of a statement, which are `?` in their order, or `$1`, `$2` and so on.
struct StatementParameters: SQLParameters {
    private let statement: BoundStatement
    /// The index of each numbered parameter, or 0 for one that the statement does not use. To SQLite `$1` is a name, and it numbers names
    /// by their first occurrence.
    private var indexes: [Int32] = []
    private var count = 0

    fileprivate init(_ statement: BoundStatement) {
        self.statement = statement
        guard statement.number(of: 1) != nil else { return }
        for index in 1...statement.parameterCount {
            guard let number = statement.number(of: index) else { continue }
            while indexes.count < number { indexes.append(0) }
            indexes[number - 1] = index
        }
    }

    /// The index of the next parameter, or nil if the statement does not use it.
    private mutating func next() -> Int32? {
        count += 1
        if indexes.isEmpty { return Int32(count) }
        return count <= indexes.count && indexes[count - 1] > 0 ? indexes[count - 1] : nil
    }

    mutating func bindNull() throws(StoreError) { if let index = next() { try statement.bindNull(at: index) } }
    mutating func bind(_ value: Int64) throws(StoreError) { if let index = next() { try statement.bind(value, at: index) } }
    /// SQLite has no type for it, and stores 0 or 1.
    mutating func bind(_ value: Bool) throws(StoreError) { try bind(value ? 1 : 0 as Int64) }
    /// The stored number has the same bits.
    mutating func bind(version: UInt64) throws(StoreError) { try bind(Int64(bitPattern: version)) }
    mutating func bind(_ text: String) throws(StoreError) { if let index = next() { try statement.bind(text: text, at: index) } }
    mutating func bind(_ bytes: Span<UInt8>) throws(StoreError) { if let index = next() { try statement.bind(blob: bytes, at: index) } }

    /// SQLite treats unbound parameters as NULL.
    ///
    /// - Throws: If the statement has parameters without a value.
    fileprivate func complete() throws(StoreError) {
        let isComplete = indexes.isEmpty ? Int32(count) == statement.parameterCount : indexes.count <= count
        guard isComplete else { throw StoreError(code: SQLITE_RANGE) }
    }
}

/// A column of a statement's current row.
struct StatementColumn: SQLColumn {
    fileprivate let statement: BoundStatement
    fileprivate let index: Int32

    var isNull: Bool { statement.type(of: index) == SQLITE_NULL }
    var isInteger: Bool { statement.type(of: index) == SQLITE_INTEGER }

    func integer() throws(StoreError) -> Int64 {
        guard isInteger else { throw .damaged }
        return statement.integer(index)
    }

    func bool() throws(StoreError) -> Bool { try integer() != 0 }
    func version() throws(StoreError) -> UInt64 { UInt64(bitPattern: try integer()) }

    func text() throws(StoreError) -> String {
        guard !isNull else { throw .damaged }
        return statement.text(index)
    }

    func bytes<Result>(_ read: (Span<UInt8>) -> Result) throws(StoreError) -> Result {
        guard !isNull else { throw .damaged }
        return statement.blob(index, read: read)
    }
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
    fileprivate var columnCount: Int32 { unsafe sqlite3_column_count(pointer) }

    /// Returns the number of a parameter such as `$1`, or nil if it has no number.
    fileprivate func number(of index: Int32) -> Int? {
        guard let name = unsafe sqlite3_bind_parameter_name(pointer, index), unsafe name[0] == Int8(UInt8(ascii: "$")) else { return nil }
        return unsafe Int(atoi(name + 1))
    }

    /// Returns the names of the parameters, such as `:id`.
    var parameterNames: [String] {
        (0..<parameterCount).map { unsafe String(cString: sqlite3_bind_parameter_name(pointer, $0 + 1)) }
    }

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

    fileprivate func type(of column: Int32) -> Int32 { unsafe sqlite3_column_type(pointer, column) }

    fileprivate func integer(_ column: Int32) -> Int64 {
        unsafe sqlite3_column_int64(pointer, column)
    }

    fileprivate func text(_ column: Int32) -> String {
        // The text is read before its length, because sqlite3_column_bytes() may convert the value otherwise.
        guard let start = unsafe sqlite3_column_text(pointer, column) else { return "" }
        let utf8 = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        return unsafe String(decoding: utf8, as: UTF8.self)
    }

    /// - Parameter read: Receives bytes that are valid until it returns.
    fileprivate func blob<Result>(_ column: Int32, read: (Span<UInt8>) -> Result) -> Result {
        let start = unsafe sqlite3_column_blob(pointer, column)?.assumingMemoryBound(to: UInt8.self)
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
        return unsafe read(bytes.span)
    }

    /// - Returns: Whether there is a row.
    func step() throws(StoreError) -> Bool {
        switch unsafe sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code: throw StoreError(code: code)
        }
    }

    /// Reads the current row.
    ///
    /// - Throws: `StoreError` if `read` does not read all of its columns.
    func row<Result>(_ read: (inout RowCursor) throws -> Result) throws -> Result {
        var row = RowCursor(self)
        let result = try read(&row)
        guard row.isAtEnd else { throw StoreError(code: SQLITE_RANGE) }
        return result
    }

    /// Releases the row and the values, which may be large.
    func reset() {
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
