/// Writes the protobuf wire format: fields that hold their default are left out.
///
/// A message describes its fields once, in ``WireMessage/write(to:)``, and is written twice: first by a writer that only counts,
/// then into an array of exactly that size.
package struct WireWriter: ~Copyable {
    /// Bytes written, or counted.
    package private(set) var byteCount = 0
    private var bytes: [UInt8] = []
    private let isCounting: Bool

    /// A writer that only counts.
    package init() {
        isCounting = true
    }

    /// A writer with room for so many bytes.
    package init(capacity byteCount: Int) {
        isCounting = false
        bytes.reserveCapacity(byteCount)
    }

    /// What was written; empty when it was only counted.
    package consuming func finish() -> [UInt8] {
        bytes
    }
}

// MARK: - Fields

extension WireWriter {
    /// `uint64`.
    @inline(__always)
    package mutating func write(_ value: UInt64, _ number: UInt32) {
        if value != 0 { writeVarint(value, number) }
    }

    /// `uint32`.
    @inline(__always)
    package mutating func write(_ value: UInt32, _ number: UInt32) {
        write(UInt64(value), number)
    }

    /// `int32` and enumerations: extended to 64 bits, so that a negative number takes ten bytes.
    @inline(__always)
    package mutating func write(_ value: Int32, _ number: UInt32) {
        write(UInt64(bitPattern: Int64(value)), number)
    }

    /// `bool`.
    @inline(__always)
    package mutating func write(_ value: Bool, _ number: UInt32) {
        write(value ? 1 as UInt64 : 0, number)
    }

    /// `optional sint64`: zigzag, written when it is set, even to 0.
    package mutating func write(zigzag value: Int64?, _ number: UInt32) {
        if let value { writeVarint(UInt64(bitPattern: value << 1 ^ value >> 63), number) }
    }

    /// `string`.
    package mutating func write(_ value: String, _ number: UInt32) {
        let text = value.utf8
        guard !text.isEmpty else { return }
        writeLength(text.count, number)
        append(contentsOf: text)
    }

    /// `bytes`.
    package mutating func write(_ value: [UInt8], _ number: UInt32) {
        if !value.isEmpty { writeEntry(value, number) }
    }

    /// `repeated bytes`: an empty entry is an entry.
    package mutating func write(_ list: [[UInt8]], _ number: UInt32) {
        for value in list { writeEntry(value, number) }
    }

    /// A repeated message.
    package mutating func write<Message: WireMessage>(_ list: [Message], _ number: UInt32) {
        for message in list {
            writeLength(message.encodedByteCount, number)
            message.write(to: &self)
        }
    }
}

// MARK: - Bytes

extension WireWriter {
    @inline(__always)
    private mutating func writeVarint(_ value: UInt64, _ number: UInt32) {
        append(varint: UInt64(number << 3 | 0))
        append(varint: value)
    }

    @inline(__always)
    private mutating func writeEntry(_ value: [UInt8], _ number: UInt32) {
        writeLength(value.count, number)
        append(contentsOf: value)
    }

    /// Tag and length of a length-delimited field.
    @inline(__always)
    private mutating func writeLength(_ byteCount: Int, _ number: UInt32) {
        append(varint: UInt64(number << 3 | 2))
        append(varint: UInt64(byteCount))
    }

    /// Seven bits a byte, lowest first, the top bit meaning that more follow.
    @inline(__always)
    private mutating func append(varint value: UInt64) {
        byteCount += (64 - (value | 1).leadingZeroBitCount + 6) / 7
        guard !isCounting else { return }
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }

    @inline(__always)
    private mutating func append(contentsOf value: some Collection<UInt8>) {
        byteCount += value.count
        guard !isCounting else { return }
        bytes.append(contentsOf: value)
    }
}
