package import Bytes

extension FixedBytes {
    /// The first 8 bytes as an integer. The indexes contain it instead of the complete value, which must have at least 8 bytes.
    package var prefix: Int64 {
        var prefix: UInt64 = 0
        for index in 0..<8 { prefix = prefix << 8 | UInt64(self[index]) }
        return Int64(bitPattern: prefix)
    }
}
