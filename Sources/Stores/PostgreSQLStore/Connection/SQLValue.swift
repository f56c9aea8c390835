import Bytes
import Envelope
import Store
import Wire

/// The type of a column or parameter. The raw value is its object id (`src/include/catalog/pg_type.dat` of PostgreSQL, never changed).
///
/// Three types suffice: every number is an `int8`, and every text is a `bytea`, because `text` cannot hold U+0000 and its order depends on
/// the collation.
enum SQLType: UInt32 {
    case bool = 16
    case bytea = 17
    case int8 = 20
    case boolArray = 1_000
    case byteaArray = 1_001
    case int8Array = 1_016

    /// The type of an array of this type, or nil for an array.
    var array: SQLType? {
        switch self {
        case .bool: .boolArray
        case .bytea: .byteaArray
        case .int8: .int8Array
        case .boolArray, .byteaArray, .int8Array: nil
        }
    }
}

/// A value in PostgreSQL's binary format.
protocol SQLValue {
    static var sqlType: SQLType { get }
    /// Whether the value is NULL, which has no bytes.
    var isNull: Bool { get }

    func append(to bytes: inout [UInt8])

    /// - Parameter bytes: The value's bytes, or nil for NULL.
    /// - Throws: `damaged` if the stored value does not have this type.
    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError)
}

extension SQLValue {
    var isNull: Bool { false }
}

extension Int64: SQLValue {
    static var sqlType: SQLType { .int8 }

    func append(to bytes: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let bytes = unsafe bytes, bytes.count == 8 else { throw .damaged }
        self = unsafe Int64(bigEndian: bytes.loadUnaligned(as: Int64.self))
    }
}

extension Bool: SQLValue {
    static var sqlType: SQLType { .bool }
    func append(to bytes: inout [UInt8]) { bytes.append(self ? 1 : 0) }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let bytes = unsafe bytes, bytes.count == 1 else { throw .damaged }
        self = unsafe bytes[0] != 0
    }
}

extension [UInt8]: SQLValue {
    static var sqlType: SQLType { .bytea }
    func append(to bytes: inout [UInt8]) { bytes += self }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let bytes = unsafe bytes else { throw .damaged }
        self = unsafe [UInt8](bytes)
    }
}

extension FixedBytes: SQLValue {
    static var sqlType: SQLType { .bytea }
    func append(to bytes: inout [UInt8]) { bytes.append(copying: span) }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let bytes = unsafe bytes, let value = unsafe Self(bytes) else { throw .damaged }
        self = value
    }
}

extension String: SQLValue {
    static var sqlType: SQLType { .bytea }
    func append(to bytes: inout [UInt8]) { bytes += utf8 }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let bytes = unsafe bytes else { throw .damaged }
        self = unsafe String(decoding: bytes, as: UTF8.self)
    }
}

extension SQLValue where Self: SecretText {
    static var sqlType: SQLType { .bytea }
    func append(to bytes: inout [UInt8]) { bytes += text.utf8 }
    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) { self.init(unsafe try String(reading: bytes)) }
}

extension DeviceToken: SQLValue {}
extension AccessToken: SQLValue {}

extension Optional: SQLValue where Wrapped: SQLValue {
    static var sqlType: SQLType { Wrapped.sqlType }
    var isNull: Bool { self?.isNull ?? true }
    func append(to bytes: inout [UInt8]) { self?.append(to: &bytes) }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        self = unsafe bytes == nil ? nil : unsafe try Wrapped(reading: bytes)
    }
}

/// An array as a parameter, for `unnest` and `= ANY`.
struct SQLArray<Element: SQLValue>: SQLValue {
    let elements: [Element]

    init(_ elements: some Sequence<Element>) {
        self.elements = Array(elements)
    }

    static var sqlType: SQLType {
        guard let type = Element.sqlType.array else { preconditionFailure("PostgreSQL has no array of arrays") }
        return type
    }

    /// Appends the number of dimensions, whether there are NULLs, the type, the length and the lower bound, and then the elements with
    /// their sizes (`array_recv` of PostgreSQL).
    func append(to bytes: inout [UInt8]) {
        for header in [elements.isEmpty ? 0 : 1, elements.contains(where: \.isNull) ? 1 : 0, Int32(Element.sqlType.rawValue)] {
            header.appendBigEndian(to: &bytes)
        }
        guard !elements.isEmpty else { return }
        Int32(elements.count).appendBigEndian(to: &bytes)
        Int32(1).appendBigEndian(to: &bytes)
        for element in elements {
            let start = bytes.count
            Int32(-1).appendBigEndian(to: &bytes)
            guard !element.isNull else { continue }
            element.append(to: &bytes)
            let size = UInt32(bytes.count - start - 4)
            for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: size >> (24 - 8 * index)) }
        }
    }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        throw .damaged  // No statement of this program returns an array.
    }
}

extension Int32 {
    fileprivate func appendBigEndian(to bytes: inout [UInt8]) {
        for shift in stride(from: 24, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: self >> shift)) }
    }
}

// MARK: Stored as integers

extension SQLValue where Self: StoredInteger {
    static var sqlType: SQLType { .int8 }
    func append(to bytes: inout [UInt8]) { storedInteger.append(to: &bytes) }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        guard let value = Self(storedInteger: unsafe try Int64(reading: bytes)) else { throw .damaged }
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

/// A version, stored with its highest bit inverted, so that the order of the stored numbers is that of the versions.
extension UInt64: SQLValue {
    static var sqlType: SQLType { .int8 }
    func append(to bytes: inout [UInt8]) { Int64(bitPattern: self ^ 1 << 63).append(to: &bytes) }

    init(reading bytes: UnsafeRawBufferPointer?) throws(StoreError) {
        self = UInt64(bitPattern: unsafe try Int64(reading: bytes)) ^ 1 << 63
    }
}
