package import Bytes
package import Envelope
import PushProtocol
package import Wire

/// The type of a value in a database.
package enum SQLType: Sendable {
    /// A signed number with 64 bits.
    case integer
    case bool
    /// Bytes, or the UTF-8 of a text.
    case bytes
    /// A list of values as a parameter, which PostgreSQL has.
    indirect case array(SQLType)
}

/// A value that statements bind and rows return.
package protocol SQLValue {
    static var sqlType: SQLType { get }

    func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure)

    /// - Throws: `damaged` if the stored value does not have this type.
    init(reading column: some SQLColumn) throws(StoreError)
}

/// The parameters of a statement, bound from the first to the last.
package protocol SQLParameters {
    associatedtype Failure: Error

    mutating func bindNull() throws(Failure)
    mutating func bind(_ value: Int64) throws(Failure)
    mutating func bind(_ value: Bool) throws(Failure)
    /// Binds a version, whose stored number a database orders as it can.
    mutating func bind(version: UInt64) throws(Failure)
    mutating func bind(_ text: String) throws(Failure)
    mutating func bind(_ bytes: Span<UInt8>) throws(Failure)
}

/// A column of a row.
///
/// Its functions throw `damaged` if the stored value has another type.
package protocol SQLColumn {
    var isNull: Bool { get }

    func integer() throws(StoreError) -> Int64
    func bool() throws(StoreError) -> Bool
    func version() throws(StoreError) -> UInt64
    func text() throws(StoreError) -> String
    /// - Parameter read: Receives bytes that are valid until it returns.
    func bytes<Result>(_ read: (Span<UInt8>) -> Result) throws(StoreError) -> Result
}

// MARK: Types

extension Int64: SQLValue {
    package static var sqlType: SQLType { .integer }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(self)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self = try column.integer() }
}

extension Bool: SQLValue {
    package static var sqlType: SQLType { .bool }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(self)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self = try column.bool() }
}

/// A version.
extension UInt64: SQLValue {
    package static var sqlType: SQLType { .integer }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(version: self)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self = try column.version() }
}

extension String: SQLValue {
    package static var sqlType: SQLType { .bytes }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(self)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self = try column.text() }
}

extension [UInt8]: SQLValue {
    package static var sqlType: SQLType { .bytes }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(span)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self = try column.bytes { [UInt8](copying: $0) } }
}

extension FixedBytes: SQLValue {
    package static var sqlType: SQLType { .bytes }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(span)
    }

    package init(reading column: some SQLColumn) throws(StoreError) {
        guard let value = try column.bytes({ Self($0) }) else { throw .damaged }
        self = value
    }
}

extension Optional: SQLValue where Wrapped: SQLValue {
    package static var sqlType: SQLType { Wrapped.sqlType }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        if let self { try self.bind(to: &parameters) } else { try parameters.bindNull() }
    }

    package init(reading column: some SQLColumn) throws(StoreError) {
        self = column.isNull ? nil : try Wrapped(reading: column)
    }
}

// MARK: Stored as other types

extension SQLValue where Self: SecretText {
    package static var sqlType: SQLType { .bytes }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(text)
    }

    package init(reading column: some SQLColumn) throws(StoreError) { self.init(try column.text()) }
}

extension DeviceToken: SQLValue {}
extension AccessToken: SQLValue {}

extension SQLValue where Self: StoredInteger {
    package static var sqlType: SQLType { .integer }

    package func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        try parameters.bind(storedInteger)
    }

    package init(reading column: some SQLColumn) throws(StoreError) {
        guard let value = Self(storedInteger: try column.integer()) else { throw .damaged }
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
