import Bytes
import Store

extension SQLType {
    /// The object id of the type (`src/include/catalog/pg_type.dat` of PostgreSQL, never changed).
    ///
    /// Three types and their arrays suffice: every number is an `int8`, and every text is a `bytea`, because `text` cannot hold U+0000 and
    /// its order depends on the collation.
    var objectID: UInt32 {
        switch self {
        case .bool: 16
        case .bytes: 17
        case .integer: 20
        case .array(.bool): 1_000
        case .array(.bytes): 1_001
        case .array(.integer): 1_016
        case .array(.array): preconditionFailure("PostgreSQL has no array of arrays")
        }
    }
}

/// An array as a parameter, for `unnest` and `= ANY`.
struct SQLArray<Element: SQLValue>: SQLValue {
    let elements: [Element]

    init(_ elements: some Sequence<Element>) {
        self.elements = Array(elements)
    }

    static var sqlType: SQLType { .array(Element.sqlType) }

    /// Binds the number of dimensions, a flag that PostgreSQL does not read, the type, the length and the lower bound, and then the
    /// elements with their sizes (`array_recv` of PostgreSQL).
    func bind<Parameters: SQLParameters>(to parameters: inout Parameters) throws(Parameters.Failure) {
        var values = ArrayValues()
        for header in [elements.isEmpty ? 0 : 1, 0, Element.sqlType.objectID] { values.bytes.append(bigEndian: header) }
        if !elements.isEmpty {
            values.bytes.append(bigEndian: Int32(elements.count))
            values.bytes.append(bigEndian: 1 as Int32)
            for element in elements { element.bind(to: &values) }
        }
        try parameters.bind(values.bytes.span)
    }

    init(reading column: some SQLColumn) throws(StoreError) {
        throw .damaged  // No statement of this program returns an array.
    }
}

/// The elements of an array, each with its size before it.
private struct ArrayValues: BinaryParameters {
    var bytes: [UInt8] = []

    mutating func bindNull() { bytes.append(bigEndian: -1 as Int32) }

    mutating func bind(count: Int, _ append: (inout [UInt8]) -> Void) {
        bytes.append(bigEndian: Int32(count))
        append(&bytes)
    }
}

/// Parameters in PostgreSQL's binary format.
protocol BinaryParameters: SQLParameters where Failure == Never {
    /// Binds a value that takes `count` bytes.
    mutating func bind(count: Int, _ append: (inout [UInt8]) -> Void)
}

extension BinaryParameters {
    mutating func bind(_ value: Int64) { bind(count: 8) { $0.append(bigEndian: value) } }
    mutating func bind(_ value: Bool) { bind(count: 1) { $0.append(value ? 1 : 0) } }
    /// The stored number has the highest bit inverted, so that the order of the numbers is that of the versions.
    mutating func bind(version: UInt64) { bind(Int64(bitPattern: version ^ 1 << 63)) }
    mutating func bind(_ text: String) { bind(count: text.utf8.count) { $0 += text.utf8 } }
    mutating func bind(_ bytes: Span<UInt8>) { bind(count: bytes.count) { $0.append(copying: bytes) } }
}
