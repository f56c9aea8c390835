extension FixedWidthInteger {
    /// Reads a number, most significant byte first. Of more bytes than it has, the last ones count.
    @inlinable package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }
}

extension [UInt8] {
    /// Appends a number, most significant byte first.
    @inlinable package mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        for shift in stride(from: Number.bitWidth - 8, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
