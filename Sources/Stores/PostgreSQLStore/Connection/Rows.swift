import CLibPQ
package import Store
import Wire

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

    /// Reads all rows.
    ///
    /// - Throws: `StoreError.damaged` if a value has another type, or if `read` does not read all columns.
    func map<Result>(_ read: (inout RowCursor) throws -> Result) throws -> [Result] {
        let columnCount = self.columnCount
        return try (0..<count).map { row in
            var cursor = RowCursor(self, row: Int32(row))
            let result = try read(&cursor)
            guard cursor.column == columnCount else { throw StoreError.damaged }
            return result
        }
    }

    fileprivate func value<Value: SQLValue>(_ row: Int32, _ column: Int32) throws(StoreError) -> Value {
        guard unsafe PQftype(result, column) == Value.sqlType.rawValue else { throw .damaged }
        if unsafe PQgetisnull(result, row, column) == 1 { return unsafe try Value(reading: nil) }
        let bytes = unsafe UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
        return unsafe try Value(reading: bytes)
    }
}

/// A row's columns, read from the first to the last.
package struct RowCursor {
    private let rows: Rows
    private let row: Int32
    fileprivate private(set) var column: Int32 = 0

    fileprivate init(_ rows: Rows, row: Int32) {
        (self.rows, self.row) = (rows, row)
    }

    /// Reads the next column.
    ///
    /// - Throws: `damaged` if the value does not have this type.
    mutating func next<Value: SQLValue>(_ type: Value.Type = Value.self) throws(StoreError) -> Value {
        defer { column += 1 }
        return try rows.value(row, column)
    }

    package mutating func nextScalar() throws -> SQLScalar {
        defer { column += 1 }
        return try rows.scalar(row, column)
    }

    /// Passes over the columns that are left.
    package mutating func skipRest() { column = rows.columnCount }

    /// Reads the next column as a protobuf message. NULL gives an empty message.
    mutating func nextMessage<Message: WireMessage>(_ type: Message.Type = Message.self) throws -> Message {
        try Self.message(try next())
    }

    static func message<Message: WireMessage>(_ bytes: [UInt8]?) throws -> Message {
        guard let bytes else { return Message() }
        do throws(WireError) { return try Message.decode(bytes) } catch { throw StoreError.damaged }
    }
}

extension Rows {
    /// The SQLSTATE of a failed statement, 5 characters.
    var errorState: String {
        unsafe PQresultErrorField(result, Int32(UnicodeScalar("C").value)).map { unsafe String(cString: $0) } ?? ""
    }
}

extension Rows {
    fileprivate func scalar(_ row: Int32, _ column: Int32) throws(StoreError) -> SQLScalar {
        if unsafe PQgetisnull(result, row, column) == 1 { return .null }
        switch SQLType(rawValue: unsafe PQftype(result, column)) {
        case .bool: return .bool(try value(row, column))
        case .bytea: return .bytes(try value(row, column))
        case .int8: return .integer(try value(row, column))
        default: throw .damaged
        }
    }
}
