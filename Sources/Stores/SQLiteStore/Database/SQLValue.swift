import Bytes
import Envelope
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

extension SQLValue where Self: StoredInteger {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(storedInteger, at: index) }

    init(reading statement: BoundStatement, _ column: Int32) throws(StoreError) {
        guard let value = Self(storedInteger: statement.integer(column)) else { throw .damaged }
        self = value
    }
}

extension Int: SQLValue {}
extension UInt32: SQLValue {}
extension Timestamp: SQLValue {}
extension NextAttempt: SQLValue {}
extension TokenType: SQLValue {}
extension PushNotificationType: SQLValue {}
extension MessageType: SQLValue {}
extension MessageState: SQLValue {}
extension IgnoreReason: SQLValue {}
extension PushOutcome: SQLValue {}
extension OpenPushState: SQLValue {}
extension PushTrust: SQLValue {}
extension PushRefusals.Shortening: SQLValue {}

/// A Boolean, stored as 0 or 1, because SQLite has no type for it.
extension Bool: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(self ? 1 : 0, at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self = statement.integer(column) != 0 }
}

/// A version, stored with the same bits.
extension UInt64: SQLValue {
    func bind(to statement: BoundStatement, at index: Int32) throws(StoreError) { try statement.bind(Int64(bitPattern: self), at: index) }
    init(reading statement: BoundStatement, _ column: Int32) { self.init(bitPattern: statement.integer(column)) }
}
