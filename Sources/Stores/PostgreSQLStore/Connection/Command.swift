import Store

/// A statement with its values in binary format.
struct Command: Sendable {
    let sql: String
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

    /// Creates a statement of both databases.
    init(_ sql: String, shared values: [any SharedValue]) {
        self.sql = sql
        for value in values {
            switch value.scalar {
            case .null:
                // PostgreSQL finds the type from the place of the parameter.
                types.append(0)
                ranges.append(nil)
            case .integer(let value): append(value)
            case .bool(let value): append(value)
            case .text(let value): append(value)
            case .bytes(let value): append(value)
            }
        }
    }

    private mutating func append<Value: SQLValue>(_ value: Value) {
        types.append(Value.sqlType.rawValue)
        let start = bytes.count
        value.append(to: &bytes)
        ranges.append(value.isNull ? nil : start..<bytes.count)
    }
}
