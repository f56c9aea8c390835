import Store

/// A statement with its values in binary format.
struct Command: Sendable {
    let sql: String
    /// The object ids of the values' types.
    private(set) var types: [UInt32] = []
    /// All values one after the other.
    private(set) var bytes: [UInt8] = []
    /// The place of each value in `bytes`, or nil for NULL.
    private(set) var ranges: [Range<Int>?] = []

    init<each Value: SQLValue>(_ sql: String, _ values: repeat each Value) {
        self.sql = sql
        for value in repeat each values { append(value) }
    }

    /// Creates a statement whose number of values is known at run time only.
    init(_ sql: String, values: [any SQLValue]) {
        self.sql = sql
        for value in values { append(value) }
    }

    private mutating func append<Value: SQLValue>(_ value: Value) {
        types.append(Value.sqlType.objectID)
        value.bind(to: &self)
    }
}

extension Command: BinaryParameters {
    mutating func bindNull() { ranges.append(nil) }

    mutating func bind(count: Int, _ append: (inout [UInt8]) -> Void) {
        ranges.append(bytes.count..<bytes.count + count)
        append(&bytes)
    }
}
