import Envelope
import StatusCrypto
import Store
import Wire

/// A value that can be bound to a statement and read from a column, without a copy in Foundation's `Data`.
protocol SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError)

    /// - Throws: `damaged` if the stored value does not have this type.
    init(reading statement: BoundStatement, _ column: Int32) throws(StoreError)
}

extension Int64: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(self, at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self = statement.integer(column) }
}

extension String: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(text: self, at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self = statement.text(column) }
}

extension SQLValue where Self: SecretText {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(text: text, at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self.init(statement.text(column)) }
}

extension DeviceToken: SQLValue {}
extension AccessToken: SQLValue {}

extension [UInt8]: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(blob: span, at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self = unsafe statement.blob(column) { unsafe [UInt8]($0) } }
}

extension FixedBytes: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(blob: span, at: index) }

    init(reading statement: BoundStatement, _ column: Int32) throws(StoreError) {
        guard let value = unsafe statement.blob(column, read: { unsafe Self($0) }) else { throw .damaged }
        self = value
    }
}

extension Optional: SQLValue where Wrapped: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) {
        switch self {
        case .some(let value): try value.bind(to: statement, at: index)
        case .none: try statement.bindNull(at: index)
        }
    }

    init(reading statement: BoundStatement, _ column: Int32) throws(StoreError) {
        self = statement.isNull(column) ? nil : try Wrapped(reading: statement, column)
    }
}

// MARK: Stored as integers

/// A value that is stored as an integer, because SQLite has no type for it.
protocol SQLInteger: SQLValue {
    var sqlInteger: Int64 { get }
    /// - Returns: The value of a stored number, or nil if the number has none.
    init?(sqlInteger: Int64)
}

extension SQLInteger {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(sqlInteger, at: index) }

    init(reading statement: BoundStatement, _ column: Int32) throws(StoreError) {
        guard let value = Self(sqlInteger: statement.integer(column)) else { throw .damaged }
        self = value
    }
}

extension Int: SQLInteger {
    var sqlInteger: Int64 { Int64(self) }
    init?(sqlInteger: Int64) { self.init(exactly: sqlInteger) }
}

extension Bool: SQLInteger {
    var sqlInteger: Int64 { self ? 1 : 0 }
    init?(sqlInteger: Int64) { self = sqlInteger != 0 }
}

/// A version, stored with the same bits.
extension UInt64: SQLInteger {
    var sqlInteger: Int64 { Int64(bitPattern: self) }
    init?(sqlInteger: Int64) { self.init(bitPattern: sqlInteger) }
}

/// A topic.
extension UInt32: SQLInteger {
    var sqlInteger: Int64 { Int64(self) }
    init?(sqlInteger: Int64) { self.init(exactly: sqlInteger) }
}

extension Timestamp: SQLInteger {
    var sqlInteger: Int64 { nanoseconds }
    init?(sqlInteger: Int64) { self.init(nanoseconds: sqlInteger) }
}

/// The enumerations of the protocol, including numbers that this version does not know.
extension SQLInteger where Self: RawRepresentable<Int32> {
    var sqlInteger: Int64 { Int64(rawValue) }
    init?(sqlInteger: Int64) {
        guard let rawValue = Int32(exactly: sqlInteger) else { return nil }
        self.init(rawValue: rawValue)
    }
}

extension TokenType: SQLInteger {}
extension PushNotificationType: SQLInteger {}
extension MessageType: SQLInteger {}

extension SQLInteger where Self: RawRepresentable<Int64> {
    var sqlInteger: Int64 { rawValue }
    init?(sqlInteger: Int64) { self.init(rawValue: sqlInteger) }
}

extension MessageState: SQLInteger {}
extension IgnoreReason: SQLInteger {}
extension PushOutcome: SQLInteger {}
extension OpenPushState: SQLInteger {}
extension PushTrust: SQLInteger {}
