import Bytes
import CLibPQ
package import Store

/// The result of a statement. It is safe: it owns the `PGresult`, and returns only copies.
@safe final class Rows {
    fileprivate let result: OpaquePointer

    /// - Parameter result: A result of libpq, which this object clears.
    init(_ result: OpaquePointer) {
        unsafe self.result = unsafe result
    }

    deinit { unsafe PQclear(result) }

    var count: Int { Int(unsafe PQntuples(result)) }
    fileprivate var columnCount: Int32 { unsafe PQnfields(result) }

    /// The number of rows that a statement inserted, changed or deleted.
    var changedCount: Int { Int(unsafe String(cString: PQcmdTuples(result))) ?? 0 }

    /// The same, but 0 for a query, which counts the rows that it returned.
    var writtenCount: Int { unsafe String(cString: PQcmdStatus(result)).hasPrefix("SELECT") ? 0 : changedCount }

    /// Steps through the rows until `read` returns false.
    ///
    /// - Throws: `StoreError.damaged` if a value has another type, or if `read` does not read all columns.
    func step(_ read: (inout RowCursor) throws -> Bool) throws {
        let columnCount = self.columnCount
        for row in 0..<count {
            var cursor = RowCursor(self, row: Int32(row))
            let goesOn = try read(&cursor)
            guard cursor.column == columnCount else { throw StoreError.damaged }
            guard goesOn else { return }
        }
    }

    /// Reads all rows.
    ///
    /// - Throws: As ``step(_:)``.
    func map<Result>(_ read: (inout RowCursor) throws -> Result) throws -> [Result] {
        var results: [Result] = []
        try step { row in
            results.append(try read(&row))
            return true
        }
        return results
    }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool { unsafe PQgetisnull(result, row, column) == 1 }

    /// - Throws: `damaged` if the value is NULL or has another type.
    fileprivate func value<Value>(
        _ row: Int32, _ column: Int32, _ type: SQLType, _ read: (Span<UInt8>) -> Value
    ) throws(StoreError) -> Value {
        guard unsafe PQftype(result, column) == type.objectID, !isNull(row, column) else { throw .damaged }
        let start = unsafe UnsafeRawPointer(PQgetvalue(result, row, column))?.assumingMemoryBound(to: UInt8.self)
        let bytes = unsafe UnsafeBufferPointer(start: start, count: Int(PQgetlength(result, row, column)))
        return unsafe read(bytes.span)
    }
}

/// A row's columns, read from the first to the last.
package struct RowCursor: SQLRow {
    private let rows: Rows
    private let row: Int32
    fileprivate private(set) var column: Int32 = 0

    fileprivate init(_ rows: Rows, row: Int32) {
        (self.rows, self.row) = (rows, row)
    }

    package mutating func next<Value: SQLValue>(_ type: Value.Type) throws(StoreError) -> Value {
        defer { column += 1 }
        return try Value(reading: ResultColumn(rows: rows, row: row, column: column))
    }

    /// Passes over the columns that are left.
    package mutating func skipRest() { column = rows.columnCount }
}

/// A column of a row.
private struct ResultColumn: SQLColumn {
    let rows: Rows
    let row: Int32
    let column: Int32

    var isNull: Bool { rows.isNull(row, column) }

    func integer() throws(StoreError) -> Int64 {
        try rows.value(row, column, .integer) { bytes in
            unsafe bytes.withUnsafeBufferPointer { unsafe Int64(bigEndianBytes: $0) }
        }
    }
    func bool() throws(StoreError) -> Bool { try rows.value(row, column, .bool) { $0[0] != 0 } }
    func version() throws(StoreError) -> UInt64 { UInt64(bitPattern: try integer()) ^ 1 << 63 }
    func text() throws(StoreError) -> String {
        try bytes { bytes in unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) } }
    }

    func bytes<Result>(_ read: (Span<UInt8>) -> Result) throws(StoreError) -> Result { try rows.value(row, column, .bytes, read) }
}

extension Rows {
    /// The SQLSTATE of a failed statement, 5 characters.
    var errorState: String {
        unsafe PQresultErrorField(result, Int32(UnicodeScalar("C").value)).map { unsafe String(cString: $0) } ?? ""
    }
}
