import Bytes

/// The plaintext that is sealed for several fields: each field with its length in front (4 bytes, big-endian).
enum SealedFields {
    /// The length that stands for a nil field.
    private static let absent = UInt32.max

    static func join(_ fields: [[UInt8]?]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(fields.reduce(0) { $0 + 4 + ($1?.count ?? 0) })
        for field in fields {
            let count = field.map { UInt32($0.count) } ?? absent
            bytes.append(bigEndian: count)
            if let field { bytes.append(contentsOf: field) }
        }
        return bytes
    }

    /// - Throws: `damaged` unless the bytes are exactly `count` fields.
    static func split(_ bytes: [UInt8], count: Int) throws(StoreError) -> [[UInt8]?] {
        var fields: [[UInt8]?] = []
        fields.reserveCapacity(count)
        var rest = bytes[...]
        for _ in 0..<count {
            guard rest.count >= 4 else { throw .damaged }
            let length = UInt32(bigEndianBytes: rest.prefix(4))
            rest = rest.dropFirst(4)
            guard length != absent else {
                fields.append(nil)
                continue
            }
            guard rest.count >= Int(length) else { throw .damaged }
            fields.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        guard rest.isEmpty else { throw .damaged }
        return fields
    }
}
