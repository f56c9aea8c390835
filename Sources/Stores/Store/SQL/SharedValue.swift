package import Bytes
import Envelope
import PushProtocol
import Wire

/// A value of a shared statement, as a database binds and returns it.
package enum SQLScalar: HoldsSecret, Sendable {
    case null
    case integer(Int64)
    case bool(Bool)
    case text(String)
    case bytes([UInt8])
}

/// A type that shared statements bind and read.
package protocol SharedValue {
    var scalar: SQLScalar { get }

    /// - Throws: `damaged` if the stored value does not have this type.
    init(scalar: SQLScalar) throws(StoreError)
}

extension Int64: SharedValue {
    package var scalar: SQLScalar { .integer(self) }

    package init(scalar: SQLScalar) throws(StoreError) {
        guard case .integer(let value) = scalar else { throw .damaged }
        self = value
    }
}

/// SQLite has no type for it, and stores 0 or 1.
extension Bool: SharedValue {
    package var scalar: SQLScalar { .bool(self) }

    package init(scalar: SQLScalar) throws(StoreError) {
        switch scalar {
        case .bool(let value): self = value
        case .integer(let value): self = value != 0
        default: throw .damaged
        }
    }
}

/// PostgreSQL stores the bytes of its UTF-8, because its own type cannot hold U+0000.
extension String: SharedValue {
    package var scalar: SQLScalar { .text(self) }

    package init(scalar: SQLScalar) throws(StoreError) {
        switch scalar {
        case .text(let value): self = value
        case .bytes(let value): self.init(decoding: value, as: UTF8.self)
        default: throw .damaged
        }
    }
}

extension [UInt8]: SharedValue {
    package var scalar: SQLScalar { .bytes(self) }

    package init(scalar: SQLScalar) throws(StoreError) {
        guard case .bytes(let value) = scalar else { throw .damaged }
        self = value
    }
}

extension FixedBytes: SharedValue {
    package var scalar: SQLScalar { .bytes(bytes) }

    package init(scalar: SQLScalar) throws(StoreError) {
        guard case .bytes(let bytes) = scalar, let value = Self(bytes) else { throw .damaged }
        self = value
    }
}

extension Optional: SharedValue where Wrapped: SharedValue {
    package var scalar: SQLScalar { self?.scalar ?? .null }

    package init(scalar: SQLScalar) throws(StoreError) {
        if case .null = scalar { self = nil } else { self = try Wrapped(scalar: scalar) }
    }
}

extension SharedValue where Self: StoredInteger {
    package var scalar: SQLScalar { .integer(storedInteger) }

    package init(scalar: SQLScalar) throws(StoreError) {
        guard let value = Self(storedInteger: try Int64(scalar: scalar)) else { throw .damaged }
        self = value
    }
}

extension Int: SharedValue {}
extension UInt32: SharedValue {}
extension Timestamp: SharedValue {}
extension MessageType: SharedValue {}
extension TokenType: SharedValue {}
